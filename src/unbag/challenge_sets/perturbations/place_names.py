"""Places on three levels, so that a place is replaced with another place that does not contain or lie in it.

The lists were written for unbag from general knowledge. Names of two levels (Georgia, New York, Singapore, Washington)
and names with an article (the Netherlands) are in no list.
"""

from enum import StrEnum
from typing import Final


class PlaceLevel(StrEnum):
    """Level of a place. Two places of the same level do not overlap."""

    COUNTRY = "country"
    STATE = "state"  # of the United States
    CITY = "city"


_COUNTRIES: Final = (
    "Afghanistan Albania Algeria Angola Argentina Armenia Australia Austria Azerbaijan Bangladesh Belarus Belgium "
    "Bolivia Bosnia Botswana Brazil Bulgaria Burma Cambodia Cameroon Canada Chad Chile China Colombia Croatia Cuba "
    "Cyprus Denmark Ecuador Egypt Estonia Ethiopia Finland France Germany Ghana Greece Guinea Haiti Honduras Hungary "
    "Iceland India Indonesia Iran Iraq Ireland Israel Italy Jamaica Japan Jordan Kazakhstan Kenya Kuwait Laos Latvia "
    "Lebanon Liberia Libya Lithuania Madagascar Malawi Malaysia Mali Malta Mongolia Morocco Mozambique Namibia Nepal "
    "New_Zealand Nicaragua Niger Nigeria North_Korea Norway Oman Pakistan Paraguay Peru Poland Portugal Qatar Romania "
    "Russia Rwanda Saudi_Arabia Senegal Serbia Slovakia Slovenia Somalia South_Africa South_Korea Spain Sri_Lanka "
    "Sudan Sweden Switzerland Syria Taiwan Tanzania Thailand Tunisia Turkey Uganda Ukraine Uruguay Uzbekistan "
    "Venezuela Vietnam Yemen Zambia Zimbabwe"
)
_STATES: Final = (
    "Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Hawaii Idaho Illinois Indiana "
    "Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi Missouri Montana "
    "Nebraska Nevada New_Hampshire New_Jersey New_Mexico North_Carolina North_Dakota Ohio Oklahoma Oregon "
    "Pennsylvania Rhode_Island South_Carolina South_Dakota Tennessee Texas Utah Vermont Virginia West_Virginia "
    "Wisconsin Wyoming"
)
_CITIES: Final = (
    "Amsterdam Ankara Antwerp Athens Atlanta Auckland Austin Baghdad Baltimore Bangkok Barcelona Basel Beijing Beirut "
    "Belfast Belgrade Berlin Birmingham Bologna Bordeaux Boston Bristol Brussels Bucharest Budapest Buenos_Aires "
    "Cairo Calcutta Cape_Town Charlotte Chicago Cincinnati Cleveland Cologne Columbus Copenhagen Dallas Damascus "
    "Delhi Denver Detroit Dresden Dublin Edinburgh El_Paso Florence Frankfurt Geneva Genoa Glasgow Guangzhou Hamburg "
    "Hanoi Helsinki Houston Indianapolis Istanbul Jakarta Jerusalem Johannesburg Kabul Kiev Krakow Kyoto Lagos "
    "Las_Vegas Leeds Lima Lisbon Liverpool London Los_Angeles Louisville Lyon Madrid Malaga Manchester Manila "
    "Marseille Melbourne Memphis Miami Milan Milwaukee Minneapolis Montreal Moscow Mumbai Munich Nairobi Naples "
    "Nashville New_Delhi New_Orleans Newark Oakland Osaka Oslo Ottawa Oxford Palermo Paris Philadelphia Pittsburgh "
    "Prague Rome Rotterdam Sacramento Salzburg San_Antonio San_Diego San_Francisco Santiago Seattle Seoul Seville "
    "Shanghai Sheffield St._Louis Stockholm Stuttgart Sydney Tehran Tokyo Toledo Toronto Toulouse Tucson Tulsa Turin "
    "Valencia Vancouver Venice Verona Vienna Warsaw Zurich"
)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.replace("_", " ") for name in text.split())


PLACE_LEVELS: Final = {
    name: level
    for level, text in (
        (PlaceLevel.COUNTRY, _COUNTRIES),
        (PlaceLevel.STATE, _STATES),
        (PlaceLevel.CITY, _CITIES),
    )
    for name in _names(text)
}
"""Level of each place."""
