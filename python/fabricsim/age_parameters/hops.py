"""Hop counts: equations 4 to 7, and the exact averages beside them."""

from __future__ import annotations

import math
from fractions import Fraction

from fabricsim.age_parameters.network import Dimension, Network


def printed(dimension: Dimension) -> Fraction:
    """Average hops in a dimension as equations 4 to 7 print it: `k / 4` for a torus, `(k + 1) / 3` for a mesh.

    Neither is the average over all destinations of uniform traffic for every radix, see [`exact`]
    [fabricsim.age_parameters.hops.exact]. A dimension of radix 1 has none.
    """
    if dimension.radix == 1:
        return Fraction(0)
    return Fraction(dimension.radix, 4) if dimension.wrap else Fraction(dimension.radix + 1, 3)


def exact(dimension: Dimension) -> Fraction:
    """Average hops in a dimension when every ordinate, the own among them, is equally likely as destination.

    Torus: `k / 4` for an even radix, `(k - 1 / k) / 4` for an odd one. Mesh: `(k - 1 / k) / 3`; equation 6 is the
    average over destinations of another ordinate, which a packet in this dimension need not have.
    """
    k = dimension.radix
    if dimension.wrap:
        return Fraction(k * k - k % 2, 4 * k)
    return Fraction(k * k - 1, 3 * k)


def exact_total(network: Network) -> Fraction:
    """Average hops of a packet of uniform traffic to the other nodes."""
    total = sum((exact(dimension) for dimension in network.dimensions), Fraction(0))
    return total * Fraction(network.nodes, network.nodes - 1)


def largest(dimension: Dimension) -> int:
    """Most hops in a dimension: its part of the diameter."""
    return dimension.radix // 2 if dimension.wrap else dimension.radix - 1


def rounded(dimension: Dimension) -> int:
    """Average hops as section 3.2 uses them: rounded to the nearest whole number (2.75 for k = 11 is 3), halves up."""
    return nearest(printed(dimension))


def nearest(value: Fraction | float) -> int:
    """The nearest whole number; of two, the larger."""
    return math.floor(value + Fraction(1, 2))
