//! The codebook: lengths of codes from counts of symbols, canonical codes from lengths.

/// Codes have lengths below this; the wire form has a word for each.
pub(super) const LENGTHS: usize = 32;

/// The algorithm for code lengths. Both give a shortest total; they differ in symbols that occur equally
/// often.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Sorted leaves and a queue of sums.
    Queue,
    /// The binary heap of the reference.
    Heap,
}

impl Rule {
    /// The longest code that is written; counts that require a longer code are evened out.
    pub(super) fn longest(self) -> u8 {
        match self {
            Rule::Queue => 27, // seed: huffman-longest
            Rule::Heap => 28,
        }
    }
}

/// The codes of all symbols.
pub(super) struct Book {
    /// Length of the code of each symbol, 0 for those that do not occur.
    pub(super) lengths: Vec<u8>,
    /// The codes.
    pub(super) codes: Vec<u32>,
    /// Smallest code of each length.
    pub(super) first: [u32; LENGTHS],
    /// How many codes are shorter than each length.
    pub(super) entry: [u32; LENGTHS],
    /// Symbols by length and number.
    pub(super) keys: Vec<u32>,
}

impl Book {
    /// The book for these counts, of which one is not zero.
    pub(super) fn new(counts: &[u32], rule: Rule) -> Book {
        let counts: Vec<u64> = counts.iter().map(|&c| c.into()).collect();
        let mut lengths = code_lengths(&counts, rule);
        let most = counts.iter().copied().max().unwrap_or(0);
        let mut shift = 24;
        while lengths.iter().any(|&l| l > rule.longest()) {
            let floor = (most >> shift).max(1);
            let raised: Vec<u64> = counts.iter().map(|&c| c.max(floor)).collect();
            lengths = code_lengths(&raised, rule);
            shift /= 2;
        }
        Book::canonical(lengths)
    }

    /// The longest codes are the smallest numbers; codes of one length ascend with their symbols.
    fn canonical(lengths: Vec<u8>) -> Book {
        let mut number = [0u32; LENGTHS + 1];
        lengths.iter().filter(|&&l| l > 0).for_each(|&l| number[usize::from(l)] += 1);
        let (first, entry) = (firsts(&number), entries(&number));
        let used = number.iter().sum::<u32>();
        let (mut codes, mut keys, mut next) =
            (vec![0; lengths.len()], vec![0; used as usize], [0u32; LENGTHS]);
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, l)| **l > 0) {
            let l = usize::from(length);
            codes[symbol] = first[l] + next[l];
            keys[(entry[l] + next[l]) as usize] = symbol as u32;
            next[l] += 1;
        }
        Book { lengths, codes, first, entry, keys }
    }

    /// The code of each symbol, with its length in the upper half.
    pub(super) fn with_lengths(&self) -> Vec<u64> {
        let of = |(&code, &length): (&u32, &u8)| u64::from(length) << 32 | u64::from(code);
        self.codes.iter().zip(&self.lengths).map(of).collect()
    }
}

/// Smallest code of each length, from how many there are of each.
pub(super) fn firsts(number: &[u32; LENGTHS + 1]) -> [u32; LENGTHS] {
    let mut first = [0u32; LENGTHS];
    for l in (1..LENGTHS - 1).rev() {
        let above = u64::from(first[l + 1]) + u64::from(number[l + 1]);
        first[l] = above.div_ceil(2) as u32;
    }
    first[0] = 255;
    first
}

fn entries(number: &[u32; LENGTHS + 1]) -> [u32; LENGTHS] {
    let mut entry = [0; LENGTHS];
    for l in 1..LENGTHS {
        entry[l] = entry[l - 1] + number[l - 1];
    }
    entry
}

/// The depth of each symbol that occurs; 1 for the only one.
fn code_lengths(counts: &[u64], rule: Rule) -> Vec<u8> {
    let mut leaves: Vec<(u64, u32)> =
        (0u32..).zip(counts).filter(|(_, c)| **c > 0).map(|(s, &c)| (c, s)).collect();
    if rule == Rule::Queue {
        leaves.sort_unstable();
    }
    let mut lengths = vec![0; counts.len()];
    if let [(_, only)] = leaves[..] {
        lengths[only as usize] = 1;
        return lengths;
    }
    let parents = match rule {
        Rule::Queue => by_queues(&leaves),
        Rule::Heap => by_heap(&leaves),
    };
    // A parent is made after its children: from the root down.
    let mut depth = vec![0u8; parents.len() + 1];
    for node in (0..parents.len()).rev() {
        depth[node] = depth[parents[node] as usize] + 1;
    }
    for (&(_, symbol), &d) in leaves.iter().zip(&depth) {
        lengths[symbol as usize] = d;
    }
    lengths
}

/// The parent of every node but the root: leaves first, then sums in the order in which they are made. The two
/// smallest become one; of equal ones a leaf goes before a sum.
fn by_queues(leaves: &[(u64, u32)]) -> Vec<u32> {
    let n = leaves.len();
    let mut parents = vec![0; (2 * n).saturating_sub(2)];
    let mut sums: Vec<u64> = Vec::with_capacity(n);
    let (mut leaf, mut sum) = (0, 0);
    while sums.len() + 1 < n {
        let parent = (n + sums.len()) as u32;
        let mut total = 0;
        for _ in 0..2 {
            let take_leaf = match (leaves.get(leaf), sums.get(sum)) {
                (Some((l, _)), Some(s)) => l <= s, // seed: huffman-rank
                (l, _) => l.is_some(),
            };
            if take_leaf {
                total += leaves[leaf].0;
                parents[leaf] = parent;
                leaf += 1;
            } else {
                total += sums[sum];
                parents[n + sum] = parent;
                sum += 1;
            }
        }
        sums.push(total);
    }
    parents
}

/// As [`by_queues`], in the order of the reference's heap, which moves nothing past its equal.
fn by_heap(leaves: &[(u64, u32)]) -> Vec<u32> {
    let n = leaves.len();
    let mut parents = vec![0; (2 * n).saturating_sub(2)];
    let mut heap = Heap(Vec::with_capacity(n));
    (0u32..).zip(leaves).for_each(|(i, &(count, _))| heap.insert((count, i)));
    let mut parent = n as u32;
    while let (Some(a), Some(b)) = (heap.remove(), heap.remove()) {
        parents[a.1 as usize] = parent;
        parents[b.1 as usize] = parent;
        if parent as usize == 2 * n - 2 {
            break;
        }
        heap.insert((a.0 + b.0, parent));
        parent += 1;
    }
    parents
}

/// Counts and nodes, the children of place i at 2i + 1 and 2i + 2.
struct Heap(Vec<(u64, u32)>);

impl Heap {
    fn insert(&mut self, node: (u64, u32)) {
        let mut at = self.0.len();
        self.0.push(node);
        while at > 0 && self.0[(at - 1) / 2].0 > node.0 {
            self.0.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn remove(&mut self) -> Option<(u64, u32)> {
        let last = self.0.pop()?;
        let Some(top) = self.0.first_mut() else { return Some(last) };
        let least = std::mem::replace(top, last);
        let mut at = 0;
        loop {
            let left = 2 * at + 1;
            let Some(&(count, _)) = self.0.get(left) else { break };
            let right = self.0.get(left + 1).filter(|r| r.0 < count);
            let child = if right.is_some() { left + 1 } else { left };
            if self.0[at].0 <= self.0[child].0 {
                break;
            }
            self.0.swap(at, child);
            at = child;
        }
        Some(least)
    }
}

#[cfg(test)]
mod tests {
    use super::{Book, Rule};

    /// Bits of all symbols under the book.
    fn bits(counts: &[u32], rule: Rule) -> u64 {
        let book = Book::new(counts, rule);
        counts.iter().zip(&book.lengths).map(|(&c, &l)| u64::from(c) * u64::from(l)).sum()
    }

    /// The sum of all sums of the two smallest is the total length of an optimal code.
    fn optimum(counts: &[u32]) -> u64 {
        let mut all: Vec<u64> = counts.iter().filter(|c| **c > 0).map(|&c| c.into()).collect();
        if all.len() == 1 {
            return all[0];
        }
        let mut total = 0;
        while all.len() > 1 {
            all.sort_unstable_by(|a, b| b.cmp(a));
            let sum = all.pop().unwrap() + all.pop().unwrap();
            total += sum;
            all.push(sum);
        }
        total
    }

    #[test]
    fn both_rules_give_the_shortest_total() {
        let mut seed = 1u32;
        for round in 0..300 {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed >> 12
            };
            let n = 1 + next() as usize % 90;
            let counts: Vec<u32> = (0..n)
                .map(|i| match round % 4 {
                    0 => next() % 4,
                    1 => 1,
                    2 => 1_000_000 / (1 + i as u32 * i as u32),
                    _ => next() >> (next() % 20),
                })
                .chain([1])
                .collect();
            let want = optimum(&counts);
            assert_eq!(bits(&counts, Rule::Queue), want, "{counts:?}");
            assert_eq!(bits(&counts, Rule::Heap), want, "{counts:?}");
        }
    }

    /// Also where counts are evened out because a code would be too long.
    #[test]
    fn no_total_is_longer_than_that_of_codes_of_equal_length() {
        let fibonacci = |n: usize| -> Vec<u32> {
            let mut counts = vec![1u32, 1];
            while counts.len() < n {
                counts.push(counts[counts.len() - 1].saturating_add(counts[counts.len() - 2]) | 1);
            }
            counts
        };
        for n in [2, 3, 5, 27, 28, 30, 33, 40, 45] {
            for others in [0, 1, 100, 4000] {
                let mut counts = fibonacci(n);
                counts.extend(vec![1; others]);
                let all: u64 = counts.iter().map(|&c| u64::from(c)).sum();
                let equal = u64::from(counts.len().next_power_of_two().trailing_zeros());
                for rule in [Rule::Queue, Rule::Heap] {
                    assert!(bits(&counts, rule) <= all * equal, "{n} {others}");
                }
            }
        }
    }

    /// Books of the reference, whose keys are padded with zeros.
    #[test]
    fn recorded_books_are_made_again() {
        let text = include_str!("../../../tests/golden/codebooks.txt");
        let numbers = |line: &str| -> Vec<u32> {
            line.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect()
        };
        let lines: Vec<Vec<u32>> = text.lines().map(numbers).collect();
        for book in lines.chunks(4) {
            let made = Book::new(&book[0], Rule::Heap);
            assert_eq!((&made.first[..], &made.entry[..]), (&book[1][..], &book[2][..]), "{:?}", book[0]);
            assert_eq!(made.keys, book[3][..made.keys.len()], "{:?}", book[0]);
        }
        assert_eq!(lines.len(), 20);
    }

    #[test]
    fn no_code_is_longer_than_the_longest() {
        let mut counts = vec![1u32, 1];
        while counts.len() < 45 {
            counts.push(counts[counts.len() - 1].saturating_add(counts[counts.len() - 2]));
        }
        for rule in [Rule::Queue, Rule::Heap] {
            for n in [27, 28, 29, 30, 31, 45] {
                let book = Book::new(&counts[..n], rule);
                assert!(book.lengths.iter().all(|l| (1..=rule.longest()).contains(l)), "{n}");
                let kraft: f64 = book.lengths.iter().map(|&l| 0.5f64.powi(l.into())).sum();
                assert_eq!(kraft, 1.0, "{n}");
            }
        }
    }
}
