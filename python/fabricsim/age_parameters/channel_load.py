"""Load of channels under uniform traffic, when each node injects one packet: equations 8 and 9."""

from __future__ import annotations

from fractions import Fraction

from fabricsim.age_parameters.network import Dimension


def printed(dimension: Dimension) -> Fraction:
    """Channel load as printed: `k / 8` for a torus (equation 8), `k / 4` for a mesh (equation 9).

    For a mesh that is the load of the links across the bisection, the largest, not the average. Dimensions of radix 1
    have no channels.
    """
    if dimension.radix == 1:
        return Fraction(0)
    return Fraction(dimension.radix, 8 if dimension.wrap else 4)


def exact(dimension: Dimension) -> Fraction:
    """Largest channel load with every ordinate, the own among them, equally likely as destination.

    Torus: half the average hops, as each router has two channels in the dimension: `k / 8`, or `(k - 1 / k) / 8` for an
    odd radix. (Where destinations half-way round are all reached the same way, that direction has `(k + 2) / 8`.) Mesh:
    `k / 4`, or `(k - 1 / k) / 4` for an odd radix.
    """
    k = dimension.radix
    return Fraction(k * k - k % 2, (8 if dimension.wrap else 4) * k)


def average(dimension: Dimension) -> Fraction:
    """Average over the channels of the dimension: in a torus all are alike, in a mesh it is `(k + 1) / 6`."""
    if dimension.wrap or dimension.radix == 1:
        return exact(dimension)
    return Fraction(dimension.radix + 1, 6)
