"""The places of names beside the marks of a picture. Part of figures.py."""

import math

LETTERS = 11  # their size, in pixels
# Possible places of a name: its beginning (1), end (-1), or middle (0), and the distance from the mark.
BESIDE = ((1, 9, 0), (-1, -9, 0), (0, 0, -14), (0, 0, 14), (1, 6, -13), (1, 6, 13), (-1, -6, -13), (-1, -6, 13), (0, 0, -26), (0, 0, 26),
          (1, 6, -26), (1, 6, 26), (-1, -6, -26), (-1, -6, 26), (0, 0, -38), (0, 0, 38))


def box(x, y, half_width, half_height):
    return (x - half_width, y - half_height, x + half_width, y + half_height)


def shared(a, b):
    """Area that two boxes (left, top, right, bottom) have in common."""
    return max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))


def away(a, x, y):
    """How far a place is from a box."""
    return math.hypot(max(a[0] - x, 0, x - a[2]), max(a[1] - y, 0, y - a[3]))


def choices(i, marks, room):
    """Possible places of the name of a mark: (place out of BESIDE, box, cost). It should be inside of the room, not over marks, and closer to its own
    than to any other."""
    x, y, name = marks[i]
    half_width = 0.31 * LETTERS * len(name)
    for side, dx, dy in BESIDE:
        own = box(x + dx + side * half_width, y + dy, half_width, 0.6 * LETTERS)
        outside = (own[2] - own[0]) * (own[3] - own[1]) - shared(own, room)
        covered = sum(shared(own, box(mx, my, 7, 7)) for mx, my, _ in marks)
        misleading = sum(away(own, mx, my) < away(own, x, y) + 2 for j, (mx, my, _) in enumerate(marks) if j != i)
        yield (side, dx, dy), own, 10 * outside + 40 * covered + 400 * misleading + dx * dx + dy * dy


def places(marks, room):
    """The place in BESIDE for each (x, y, name): the cheapest places, which avoid names over each other."""
    possible = [list(choices(i, marks, room)) for i in range(len(marks))]

    def cost(choice, others):
        return round(choice[2] + 10 * sum(shared(choice[1], other[1]) for other in others), 6)

    def arranged(first):
        found = {}
        # Once to find a place, and again where names that came later are in the way.
        for i in [*range(first, len(marks)), *range(first)] * 3:
            others = [choice for j, choice in found.items() if j != i]
            found[i] = min(possible[i], key=lambda choice: cost(choice, others))
        return [found[i] for i in range(len(marks))]

    def whole(found):
        return round(sum(cost(choice, found[:i]) for i, choice in enumerate(found)), 6)

    # The result depends on the first name.
    best = min((arranged(first) for first in range(len(marks))), key=whole)
    return [place for place, _, _ in best]
