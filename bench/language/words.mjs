// Words that make up keys: any two of them are a key that no text has.

const ADJECTIVES =
  'abrupt amused ancient ashen bashful blithe brittle calm candid chilly clumsy crimson curly dapper dizzy drowsy dusty eager earnest fabled faint feisty fierce flimsy frosty gentle giddy glossy golden grumpy hasty hollow humble icy jagged jolly keen lanky lively lonely lucky mellow merry misty modest muddy nimble noisy odd pale patient placid plucky polite proud quaint quiet rapid rough rusty salty scarlet shaky shiny silent silver sleepy slender sly smoky snug solemn spicy steady stern stormy sturdy subtle sunny swift tender tidy timid tranquil trusty vivid wary weary wild windy wise witty young zesty'
const NOUNS =
  'anchor apron arrow badger bakery balcony banjo barrel basket beacon bison blanket bottle bridge bucket button cabin cactus camel candle canoe carpet castle cedar cellar chapel cherry chimney clover comet compass copper cottage cradle cricket curtain dagger dolphin donkey dragon eagle engine falcon feather fiddle flute forest fountain garlic glacier goblet hammer harbor helmet heron hornet island jacket jungle kettle ladder lantern lemon lizard magnet maple marble meadow mirror monkey muffin needle nickel orchard otter oyster paddle parrot pebble pepper piano pillow pirate pocket pumpkin quilt rabbit radish ribbon river saddle salmon shovel sparrow spider squirrel statue tavern temple thistle ticket tiger tractor trumpet tunnel turtle violin walnut whistle willow window'

export const adjectives = ADJECTIVES.split(' ')
export const nouns = NOUNS.split(' ')

export const towns =
  'Harwick Belmora Tynford Castrel Oldham Varnby Lisport Denholt Marrow Sandfell Quarnley Brisk'.split(' ')
export const trades =
  'baker sailor tailor printer gardener teacher carpenter surgeon painter brewer miller clerk'.split(' ')
const FIRST = 'Ada Bruno Clara Dario Elsa Felix Greta Hugo Irma Jonas Klara Leon Mona Nils Olga Pavel'.split(
  ' ',
)

/** A name that no text has. @param {{ pick: Function }} random */
export function person(random) {
  const [first, last, end] = [random.pick(FIRST), random.pick(adjectives), random.pick(nouns)]
  return `${first} ${last[0].toUpperCase()}${last.slice(1)}${end}`
}

/** `count` different ones. @param {{ pick: Function }} random */
export function keys(random, count) {
  return different(count, () => `${random.pick(adjectives)}-${random.pick(nouns)}`)
}

/** Seven digits, as in RULER. */
export function numbers(random, count) {
  return different(count, () => String(1_000_000 + Math.floor(random.uniform() * 9_000_000)))
}

export function uuids(random, count) {
  const hex = (n) => Array.from({ length: n }, () => Math.floor(random.uniform() * 16).toString(16)).join('')
  return different(count, () => [8, 4, 4, 4, 12].map(hex).join('-'))
}

export function different(count, draw) {
  const found = new Set()
  while (found.size < count) found.add(draw())
  return [...found]
}

/** Fisher and Yates, in place. */
export function shuffle(random, items) {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random.uniform() * (i + 1))
    ;[items[i], items[j]] = [items[j], items[i]]
  }
  return items
}
