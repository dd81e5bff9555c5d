// How a source is, in colour, mark and words.
import { duration } from './format'
import type { State } from './types'
import { now } from './ui/clock'

/** toneOf returns the colour of a phase, and its mark: a state is never a colour alone. */
export function toneOf(state: State): { tone: string; mark: string } {
  switch (state.phase) {
    case 'ready':
      return { tone: 'ok', mark: '●' }
    case 'connecting':
      return { tone: 'accent', mark: '◌' }
    case 'recording':
      return { tone: 'muted', mark: '▪' }
    case 'waiting':
    case 'unresponsive':
      return { tone: 'warn', mark: '▲' }
    default:
      return { tone: 'error', mark: '✗' }
  }
}

const seconds = (from: string): string => duration(Math.max(0, now.value - Date.parse(from)) * 1e6)

/** phaseText says in words how a source is. */
export function phaseText(s: State): string {
  switch (s.phase) {
    case 'connecting':
      return `connecting ${seconds(s.since)}${s.waits ? `, waiting for ${s.waits}` : ''}`
    case 'waiting': {
      const left = s.next ? Math.max(0, Math.ceil((Date.parse(s.next) - now.value) / 1000)) : 0
      return `ended, attempt ${(s.failures ?? 0) + 1}${left ? ` in ${left} s` : ' now'}`
    }
    case 'unresponsive':
      return 'does not answer'
    default:
      return s.phase
  }
}
