"""Global identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address

from fabricsim.verbs.errors import PyverbsUserError


class GID:
    """Global identifier of a port or of a multicast group, written as an IPv6 address."""

    def __init__(self, gid: str | int = 0) -> None:
        try:
            self.address = IPv6Address(gid)
        except AddressValueError as error:
            raise PyverbsUserError(f"gid = {gid!r}: {error}") from None

    @property
    def gid(self) -> str:
        """The identifier in eight groups of four digits."""
        return self.address.exploded

    def __str__(self) -> str:
        return self.gid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GID) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)


@dataclass(frozen=True)
class McastGroup:
    """Addresses of a multicast group of the experiment."""

    mgid: GID
    mlid: int
