"""Placeholder."""


def fill(arrays):
    pass
