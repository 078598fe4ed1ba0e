"""English nouns, as lemmas, by what they are as the object of a verb: mostly no thing that could do what is done to it.

Those that name no thing were read from the objects of verbs in SNLI, by the lexicographer's file of their first sense
in WordNet (act, event, communication, cognition, attribute, state, time; body): WordNet proposes, a reader disposes.
They are lists since no set should need WordNet to be built.
"""

from typing import Final

BODY_PARTS: Final = frozenset(
    """ankle arm back beard bicep biceps body brow cheek chest chin crotch dreadlock ear elbow eye eyebrow face
    feature finger fist foot forearm forehead hair haircut hand head hip jaw knee lap leg lip mohawk mouth
    muscle mustache neck nose paw profile shoulder skin stomach tail thigh throat thumb toe tongue tooth torso
    tummy waist wrist""".split()
)

SPORTS: Final = frozenset(
    """acrobatics archery backgammon badminton baseball basketball billiards bingo bowling boxing checkers chess
    cricket croquet foosball football frisbee golf gymnastic gymnastics hockey hopscotch jenga judo karate
    kickball lacrosse monopoly paintball ping-pong poker polo pong pool racquetball rugby skating soccer
    softball tag tennis tug tug-of-war twister volleyball yoga""".split()
)
"""Games that are named without an article; with one, some are a ball (throws a football)."""

HAPPENINGS: Final = frozenset(
    """accident act action activity advantage adventure aim air allegiance approach arrangement arrival attempt
    attention award backflip backstroke balance balancing basis battle beauty bend birthday bit bite break breakdance
    breakfast breaststroke breath brunch business call calligraphy care cartwheel catch celebration ceremony
    challenge chance change charge chat check cheer choice circus chore christmas color command competition
    concert conference confrontation construction contact contest contract control conversation course craft
    crossing culture curiosity cycle damage dance dancing date day deal debate decision decline defense demo
    demonstration design dig dinner direction discussion disgust dive dribble drive dunk duty edge effort
    emotion entertainment errand evening event exchange exercise exhibition experience experiment expertise
    expression face-off fall feature felicitation festival festivity fight finish flexibility flight flip
    formation frolic fun game genocide gesture goal good goodbye greeting gymnastic handshake handstand
    happening headstand hello help hike history hit hold homework hop hug hunt idea improvement information
    injection injury instruction interview invention job jog joke journey joy jump karaoke kick kicking kiss
    knowledge landing laugh layup lead leap leapfrog lecture leisure lesson life lift listen look love lunch
    maintenance maneuver marathon march marching marriage massage match matter meeting meltdown mess midair
    middle might mind moment monologue morning motion move movement music musical nap nature negotiation news
    night number oath opening operation opinion opportunity order outing pain parade part party pass passage
    patience patrol pause pedicure performance permission photoshoot picketing pickup picnic pitch place play
    pleasure plot point pose position possession practice prayer presence presentation pressure pride privacy
    procedure process procession program progress project protest punch purchase push putt question quiet race
    rally reading refuge rehearsal relationship relaxation relay release renovation repair rescue research
    resistance rest resting result return review rhythm ride risk ritual role rodeo romance round routine run
    running rush sale salute scene scent science score screening search seat selfie serve service session shadow
    shape shift shop shopping shot show shower side sight sip situation size skateboarding skill skit sleep
    smell smile soak solo somersault song sort sound space spectacle speech speed spin split splits sport stance
    standing start state story stretch stride stroke stroll stunt style success summersault sunset supper
    surgery surprise swerve swim swordsmanship symbol talent talk talking task taste technique temperature
    theater thing thought throw time toast top topic touch tour trade training transaction transportation trick
    trip triumph trouble try tumble tune turn type usage vacation variety vault verity victory view visit vote
    wait waiting walk war warmth way weather wedding week wheelie while wildfire win wisdom wish word work
    workout worship wreck year yell youth""".split()
)
"""Activities, performances, communication, times and other abstractions: what one does, gives, has or takes rather than
does something to (do a trick, play a game, take a nap)."""

IDIOMS: Final = {
    "jump": frozenset(["rope"]),
    "have": frozenset("beer coffee drink meal snack tea".split()),
    "make": frozenset("circle face line way".split()),
    "take": frozenset(
        """bath cab care cover note photo photograph picture shower snapshot step taxi train video""".split()
    ),
}
"""Things that are not acted on by some verbs, which make one verb with them."""

UNCOUNTED: Final = frozenset(
    """accordion art attire bacon bagpipe banjo bass beef beer bongo bread butter cake candy cardboard cash cello
    cement cereal cheese chicken chocolate clarinet clay clothing coal coffee concrete confetti corn cotton
    cream debris dirt dough drum dust equipment fabric fiddle fish flour flute foliage food fruit furniture
    garbage gas gasoline graffiti granite grass gravel guitar harmonica harp hay henna horn ice ink jewelry
    juice keyboard laundry lemonade liquid liquor lotion luggage lumber machinery makeup meat medicine
    merchandise metal milk money mortar mud mulch oil paint paper pasta pavement percussion piano pizza popcorn
    pottery powder produce rice rope rubbish salad salt sand sauce saxophone scenery seafood sewage shampoo
    signage silk smoke snow soap soda soil soup spaghetti steel straw string sugar sunscreen sushi tape tar tea
    television tinsel toast traffic trash trombone trumpet tuba tv ukulele vegetation violin water wheat wine
    wire wood wool yarn yogurt""".split()
)
"""Nouns that need no article as an object: stuff, and instruments that are played."""

CLOTHES: Final = frozenset(
    """apron bikini boot cap clothes clothing coat costume dress glasses glove goggles gown hat helmet hood jacket
    jean jeans jersey outfit overalls pants robe scarf shirt shoe short shorts skirt suit sunglasses sweater
    sweatshirt swimsuit t-shirt tie top trunks tuxedo uniform vest""".split()
)
COLOURS: Final = frozenset(
    """black blue brown gold gray green grey orange pink purple red silver white yellow""".split()
)
"""What people are told apart by."""
