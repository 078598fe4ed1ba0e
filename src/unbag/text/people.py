"""Common English nouns for people and animals, as lemmas."""

from typing import Final

PEOPLE: Final = frozenset(
    """actor adult artist athlete audience baby ballerina band bicyclist biker boxer boy bride brother bystander chef
    child citizen clown coach cook couple cowboy crew crowd customer cyclist dancer daughter diver driver employee
    family fan farmer father female fighter firefighter fireman fisherman friend gentleman girl group guard guitarist
    guy gymnast hiker human individual infant jogger judge juggler kid lady male man member mom mother musician
    officer onlooker opponent parent participant passenger pedestrian people performer person photographer pitcher
    player police policeman reporter rider runner sailor seller server shopper singer sister skateboarder skater
    skier snowboarder soldier son spectator student surfer swimmer teacher team teen teenager toddler tourist vendor
    waiter waitress walker woman worker youngster youth""".split()
)
ANIMALS: Final = frozenset(
    "animal bird bull camel cat cow dog donkey duck elephant goat horse kitten monkey pet puppy sheep".split()
)
