"""A small lexicon with the structure of WordNet: words have senses, and senses have hypernyms.
Senses are strings here.
"""

SENSES = {word: [word] for word in "poodle cat rogue animal rose hot cold kitchen far near".split()}
SENSES |= {"dog": ["dog", "rogue"], "hound": ["dog"], "living room": ["living room"]}
HYPERNYMS = {
    "poodle": ["dog"],
    "dog": ["canine", "pet"],
    "canine": ["carnivore"],
    "pet": ["animal"],
    "cat": ["feline"],
    "feline": ["carnivore"],
    "carnivore": ["animal"],
    "animal": ["thing"],
    "rose": ["flower"],
    "flower": ["plant"],
    "plant": ["organism"],
    "organism": ["thing"],
    "living room": ["room"],
    "kitchen": ["room"],
    "room": ["thing"],
}
ANTONYMS = {"hot": ["cold"], "cold": ["hot"], "far": ["near"], "near": ["far"]}


class TinyLexicon:
    """A lexicon in which the plural in -s is the only inflection."""

    def base_forms(self, phrase):
        return {form for form in (phrase, phrase.removesuffix("s")) if form in SENSES}

    def senses(self, phrase):
        return [sense for form in self.base_forms(phrase) for sense in SENSES[form]]

    def hypernyms(self, sense):
        return HYPERNYMS.get(sense, [])

    def antonyms(self, phrase):
        return {antonym for form in self.base_forms(phrase) for antonym in ANTONYMS.get(form, [])}
