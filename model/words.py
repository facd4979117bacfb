"""The words that generated text is made of. Common ones, so that most become a single token."""


def _words(text: str) -> list[str]:
    words = text.split()
    assert len(set(words)) == len(words), "a word is listed twice"
    return words


NOUNS = _words(
    """river engine letter garden captain harbour window winter teacher machine orchard signal market bridge village
    lantern clock road mountain island forest temple castle tower station library school hospital factory farm kitchen
    ladder hammer needle mirror candle basket bottle blanket carpet curtain drawer pillow saddle shovel spoon kettle
    anchor arrow barrel bell boat bowl brush bucket button cabin camera canal canvas card cart chain chair chimney
    coin comb cookie cottage cradle crown cup desk diamond door drum eagle envelope fence field flag flute fountain
    gate glove guitar hat helmet horse jacket jar jewel key kite knife lake lamp leaf lemon lion lock map mask
    medal melon mill mouse nest oven owl paint palace paper path pearl pencil piano pipe plate pocket pond pump
    puzzle rabbit ring robot rope sail scarf shell shield ship shoe soap sword table tent ticket tiger train tree
    trumpet tunnel umbrella valley vase violin wagon wall wheel whistle wolf yard zebra"""
)

ADJECTIVES = _words(
    """old quiet narrow bright patient heavy distant broken early green careful empty sudden warm northern plain
    ancient brave clever dark eager faint gentle hidden icy jolly kind large modern new open proud rapid silent
    tall useful wide young"""
)

VALUES = _words(
    """copper silver gold iron steel bronze marble cotton wool silk leather amber ivory granite crystal velvet
    red blue black white yellow purple orange pink brown grey sugar salt pepper honey butter bread apple cherry
    grape peach plum onion carrot potato rice wheat corn barley coffee tea milk water wine juice thunder rain snow
    wind storm cloud summer spring autumn monday tuesday friday sunday north south east west sun moon star planet"""
)

NAMES = _words(
    """Anna Tom Clara Ines Peter Maria John Lucy David Sarah Paul Emma Mark Laura James Alice Henry Julia Oscar
    Nina Victor Rosa Simon Helen George Diana Felix Irene Martin Olga Robert Sophie Hugo Martha Leon Agnes Albert
    Grace Edgar Vera"""
)

PLACES = _words(
    """Lisbon Paris London Berlin Madrid Rome Vienna Prague Oslo Dublin Athens Cairo Tokyo Delhi Boston Chicago
    Denver Dallas Geneva Zurich Milan Naples Venice Munich Hamburg Warsaw Moscow Lima Quito Havana"""
)


def digits(rng, count: int) -> str:
    """A number of exactly `count` digits, each of them a token."""
    return str(rng.randrange(10 ** (count - 1), 10**count))


def pairs(rng, count: int) -> list[str]:
    """`count` different keys of two words, for when there are more keys than nouns."""
    total = len(ADJECTIVES) * len(NOUNS)
    picked = rng.sample(range(total), count)
    return [f"{ADJECTIVES[i % len(ADJECTIVES)]} {NOUNS[i // len(ADJECTIVES)]}" for i in picked]


def keys(rng, count: int) -> list[str]:
    """`count` different keys: single nouns where they suffice and half of the time."""
    if count <= len(NOUNS) // 2 and rng.random() < 0.7:
        return rng.sample(NOUNS, count)
    return pairs(rng, count)
