"""Ejection probabilities of the dimensions: equations 10 to 13."""

from __future__ import annotations

from fractions import Fraction

from fabricsim.age_parameters.network import Network


def printed(network: Network) -> list[Fraction]:
    """Probability for each dimension, in the order of routing, that a packet is ejected from it.

    All but the last dimension (equations 10 and 11): it was not at its ordinate there, and is in all later ones. The
    last one has the rest (equation 12), which counts packets of a node to itself.
    """
    *first, _ = exact(network)
    return [*first, 1 - sum(first, Fraction(0))]


def exact(network: Network) -> list[Fraction]:
    """The same with the last dimension like all others: the rest to 1 is packets of a node to itself."""
    probabilities: list[Fraction] = []
    later = Fraction(1)
    for dimension in reversed(network.dimensions):
        probabilities.insert(0, Fraction(dimension.radix - 1, dimension.radix) * later)
        later /= dimension.radix
    return probabilities


def per_direction(probability: Fraction) -> Fraction:
    """Of each of the two ports of a dimension (equation 13)."""
    return probability / 2


def through_all(network: Network) -> Fraction:
    """Probability that a packet moves in every dimension (footnote 6)."""
    product = Fraction(1)
    for dimension in network.dimensions:
        product *= Fraction(dimension.radix - 1, dimension.radix)
    return product
