import { expect, test } from 'vitest'
import { checkSelection, heavyOf, heavyTurnover, selectMemory } from './selection.js'

const tracked = new Map([
  [1, 5],
  [3, 2],
  [4, 2],
  [6, 9],
  [9, 7],
])

test('Local is the tail, Heavy the best of the rest', () => {
  expect(selectMemory(10, { L: 2, H: 2 }, tracked)).toEqual([1, 6, 8, 9]) // 9 is local, untracked 8 too
  expect(selectMemory(10, { L: 0, H: 2 }, tracked)).toEqual([6, 9])
  expect(selectMemory(10, { L: 3, H: 0 }, tracked)).toEqual([7, 8, 9])
})

test('ties go to the lower position', () => {
  expect(selectMemory(10, { L: 1, H: 3 }, tracked)).toEqual([1, 3, 6, 9])
})

test('the lowest other positions fill up, to no more than there are', () => {
  expect(selectMemory(10, { L: 1, H: 6 }, tracked)).toEqual([0, 1, 2, 3, 4, 6, 9])
  expect(selectMemory(3, { L: 1, H: 6 }, new Map([[1, 4]]))).toEqual([0, 1, 2])
  expect(selectMemory(4, { L: 1, H: 2 }, new Map())).toEqual([0, 1, 3])
  expect(selectMemory(0, { L: 1, H: 2 }, new Map())).toEqual([])
})

test('NaN ranks below every number, and before the fill', () => {
  const broken = new Map([...tracked, [0, Number.NaN], [2, -1]])
  expect(selectMemory(10, { L: 1, H: 5 }, broken)).toEqual([1, 2, 3, 4, 6, 9])
  expect(selectMemory(10, { L: 1, H: 6 }, broken)).toEqual([0, 1, 2, 3, 4, 6, 9])
  expect(selectMemory(10, { L: 1, H: 1 }, new Map([[5, Number.NaN]]))).toEqual([5, 9])
})

test('a right set passes the check, a wrong one is named', () => {
  const at = { L: 1, H: 3, p: 10 }
  const check = (set: number[], tol = 0) => checkSelection(set, tracked, at, tol).join('; ')
  expect(check([1, 3, 6, 9])).toBe('')
  expect(check([1, 4, 6, 9])).toMatch('keeps 4 (score 2) and leaves out 3 (score 2)')
  expect(check([1, 4, 6, 9], 1e-5)).toBe('') // as good as the other where scores are rounded
  expect(check([1, 3, 4, 9], 1e-5)).toMatch('leaves out 6')
  expect(check([0, 1, 6, 9], 1e-5)).toMatch('has 0, which was no candidate')
  expect(check([1, 3, 4, 6], 1e-5)).toMatch('lacks local position 9')
  expect(check([1, 6, 9], 1e-5)).toMatch('holds 3, not 4')
  expect(check([3, 1, 6, 9], 1e-5)).toMatch('not ascending')
  expect(check([1, 6, 9, 10], 1e-5)).toMatch('outside [0, 10)')
  expect(checkSelection([0, 1, 3, 4, 5, 6, 9], tracked, { ...at, H: 6 }, 0)).toHaveLength(1)
})

test('turnover is the share of Heavy that is new', () => {
  expect(heavyOf([1, 3, 6, 8, 9], 10, 2)).toEqual([1, 3, 6])
  expect(heavyTurnover([1, 3, 6, 7], [1, 6, 20, 21])).toBe(0.5)
  expect(heavyTurnover([], [4])).toBe(1)
  expect(heavyTurnover([4], [])).toBe(0)
})
