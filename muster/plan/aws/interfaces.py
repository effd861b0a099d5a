"""Which network interfaces an instance is launched with, derived from the type's cards. Pure.

The layouts are those of the EC2 user guide ("Maximize network bandwidth on EFA-enabled instance
types"): the primary interface is card 0, device 0 and never EFA-only; a card has at most one EFA;
EFA-only interfaces have no address.
"""

from __future__ import annotations

from typing import Literal

from muster.catalog import InstanceType
from muster.errors import UsageError
from muster.plan.aws.model import Interface

Wish = Literal["fewAddresses", "fullBandwidth"]


def interfaces_of(found: InstanceType, wish: Wish, *, where: str) -> tuple[Interface, ...]:
    """Return the interfaces of one instance, the primary first.

    Raises:
        UsageError: the catalog does not say on which cards the type has EFA, or the type has no
            layout with more addresses.

    """
    if wish == "fullBandwidth" and not found.address_cards:
        what = f"{found.name} has no layout with more addresses"
        raise UsageError(what, where=f"{where}.interfaces", hint="Use fewAddresses.")
    if found.efa_interfaces and found.network_cards == 1:
        return (Interface(0, 0, "efa"),)
    cards = _efa_cards(found, where) if found.efa_interfaces else ()
    efa = tuple(Interface(card, 0 if card else 1, "efa-only") for card in cards)
    if wish == "fewAddresses":
        return (Interface(0, 0, "interface"), *efa)
    more = tuple(Interface(card, 1, "interface") for card in found.address_cards or ())
    return (Interface(0, 0, "interface"), *efa, *more)


def _efa_cards(found: InstanceType, where: str) -> tuple[int, ...]:
    """On which cards: as listed, else on all, or on all but card 0 where there is one less."""
    if found.efa_cards is not None:
        return found.efa_cards
    cards, efa = found.network_cards or 0, found.efa_interfaces or 0
    if efa == cards:
        return tuple(range(cards))
    if efa == cards - 1:
        return tuple(range(1, cards))
    what = f"the catalog does not say on which of {cards} cards {found.name} has its {efa} EFA"
    raise UsageError(what, where=where, hint="Add efa_cards to the type in the catalog.")
