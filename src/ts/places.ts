/**
 * Where reads of a context ended, and whether what they read is still there.
 *
 * A position is only a number: after another prompt of the same length it means another text. A place is the result of
 * a prefill() or a loadState(); one whose text was forgotten, in part or as a whole, is stale.
 */

import { H2oError, invalidArgument } from './errors.js'

/** What a read gave. */
export interface Place {
  readonly position: number
}

export class Places {
  #clock = 0
  /**
   * From each `at` on, the text became another one. The latest are last, and above those before: the others do not
   * matter.
   */
  #cuts: { at: number; time: number }[] = []
  #times = new WeakMap<Place, { position: number; time: number }>()

  /** Everything from `at` on is forgotten. */
  cut(at: number): void {
    while ((this.#cuts.at(-1)?.at ?? -1) >= at) this.#cuts.pop()
    this.#cuts.push({ at, time: ++this.#clock })
  }

  /** `place` ends what is in the context now. */
  add<P extends Place>(place: P): P {
    this.#times.set(place, { position: place.position, time: this.#clock })
    return place
  }

  /** Throws ERR_H2O_POSITION_STALE, and ERR_H2O_INVALID_ARGUMENT for what is no place of this context. */
  positionOf(place: Place): number {
    const added = this.#times.get(place)
    if (!added) {
      throw invalidArgument('from takes a position, or what prefill() or loadState() of this context gave', {
        from: place,
      })
    }
    const lowest = this.#cuts.find(({ time }) => time > added.time)
    if (lowest && lowest.at < added.position) {
      throw new H2oError(
        'ERR_H2O_POSITION_STALE',
        `what was read up to position ${added.position} was forgotten from ${lowest.at} on`,
        { details: { from: added.position, forgotten: lowest.at } },
      )
    }
    return added.position
  }
}
