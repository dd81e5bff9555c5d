// Rows of the traffic list: a request and its response are one row, and so is a run of the same
// notification. Rows are added as frames come; nothing is made twice.
import { frames, framesBySeq, framesReset } from './store'
import type { Frame } from './types'

export interface Row {
  /** The frame that the row is chosen by. */
  first: Frame
  /** A run of notifications, including first; absent if there is only one. */
  run?: Frame[]
  /** The row is one of a run that was opened. */
  inRun?: boolean
}

/** isAnswer reports whether a frame answers a request: a response, or what came in its place. */
export const isAnswer = (f: Frame): boolean => f.pair !== undefined && f.kind !== 'request'

export const answerOf = (f: Frame, all: ReadonlyMap<number, Frame> = framesBySeq): Frame | undefined =>
  f.kind === 'request' && f.pair ? all.get(f.pair) : undefined

/** endOf returns where a row ends on the time line, in nanoseconds. */
export function endOf(row: Row, all: ReadonlyMap<number, Frame>): number {
  if (row.run) return row.run.at(-1)!.ns
  return answerOf(row.first, all)?.ns ?? row.first.ns
}

export const isTransport = (f: Frame): boolean =>
  f.kind === 'step' ? !f.error : (f.kind === 'head' || f.kind === 'body') && (f.status ?? 0) < 400

/** What rows are shown. */
export interface View {
  /** Show HTTP heads, bodies and steps of connecting that went well. */
  transport: boolean
  /** Leave out what is not after this frame. */
  after: number
  hidden: ReadonlySet<number>
}

/** Rows makes rows of frames. */
export class Rows {
  rows: Row[] = []
  private done = 0
  private opened = new Set<number>()
  private tail: Row | undefined // the last row that is not inside a run

  constructor(
    readonly list: readonly Frame[],
    readonly all: ReadonlyMap<number, Frame>,
    readonly view: View,
  ) {}

  /** take adds the frames that have come since. */
  take(): this {
    for (; this.done < this.list.length; this.done++) this.add(this.list[this.done]!)
    return this
  }

  private add(f: Frame): void {
    const { view, rows, tail } = this
    if (f.seq <= view.after || view.hidden.has(f.src)) return
    if (!view.transport && isTransport(f)) return
    // The row of a request has its answer, too. An HTTP head is also what is asked for with view.transport.
    if (isAnswer(f) && this.all.has(f.pair!) && !(view.transport && f.kind === 'head')) return
    if (tail && f.kind === 'notification' && isSame(tail.first, f)) {
      if (tail.run) tail.run.push(f)
      else tail.run = [tail.first, f]
      if (this.opened.has(tail.first.seq)) rows.push({ first: f, inRun: true })
      return
    }
    this.tail = { first: f }
    rows.push(this.tail)
  }

  /** toggle opens or closes a run. */
  toggle(index: number): boolean {
    const row = this.rows[index]
    if (!row?.run) return false
    if (this.opened.delete(row.first.seq)) {
      let end = index + 1
      while (this.rows[end]?.inRun) end++
      this.rows = [...this.rows.slice(0, index + 1), ...this.rows.slice(end)]
    } else {
      this.opened.add(row.first.seq)
      const inner = row.run.map((first): Row => ({ first, inRun: true }))
      this.rows = [...this.rows.slice(0, index + 1), ...inner, ...this.rows.slice(index + 1)]
    }
    return true
  }

  isOpen = (row: Row): boolean => this.opened.has(row.first.seq) && row.run !== undefined

  /** indexOf returns the row that shows a frame, or -1. */
  indexOf(seq: number): number {
    if (!seq) return -1
    const { rows } = this
    let low = 0
    let high = rows.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (rows[middle]!.first.seq <= seq) low = middle + 1
      else high = middle
    }
    // An opened run and its first frame have the same number: the run comes first.
    for (let i = low - 1; i >= 0 && i > low - 3; i--) if (rows[i]!.first.seq === seq) return i
    const f = this.all.get(seq)
    if (f && isAnswer(f) && f.pair! < seq) return this.indexOf(f.pair!)
    const run = rows[low - 1]?.run
    return run && run.at(-1)!.seq >= seq ? low - 1 : -1
  }
}

const isSame = (a: Frame, b: Frame): boolean =>
  a.kind === 'notification' && a.method === b.method && a.src === b.src && a.d === b.d && a.call === b.call

/** liveRows returns rows of the frames of this session. They are rebuilt when some were dropped. */
export function liveRows(before: Rows | undefined, view: View): Rows {
  const reset = framesReset.value
  if (before && before.view === view && before.list === frames && resets.get(before) === reset) return before.take()
  const made = new Rows(frames, framesBySeq, view)
  resets.set(made, reset)
  return made.take()
}

const resets = new WeakMap<Rows, number>()

/** titleOf returns what a row says of a frame. */
export function titleOf(f: Frame): [method: string, rest: string] {
  switch (f.kind) {
    case 'step':
      return [f.step ?? 'step', f.error ?? f.detail ?? '']
    case 'head':
      return [f.verb ? `${f.verb} ${f.url ?? ''}` : `HTTP ${f.status ?? ''}`, '']
    case 'stderr':
    case 'junk':
    case 'body':
      return [f.kind, f.text ?? '']
    default:
      return [f.method ?? f.kind, f.name ?? (f.err ? f.err.text : '')]
  }
}
