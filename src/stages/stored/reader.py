"""Stage stored, read a second time from its page. See tests/reference/fzm_reader.py."""


class Stored(OnePort):
    """The bytes themselves."""

    id = 0x8001
    name = "Stored"

    def __init__(self, config, generation):
        require(not config, "Stored: configuration is not empty")

    def decode_bytes(self, data, limits):
        return bytes(data)
