// Everything the page knows about the sources. The stream fills it: lines wait in a queue, short
// tasks decode them, and what they change is drawn at once or, in a flood, at intervals.
import { computed, signal } from '@preact/signals'
import { ApiError, boot, failureOf, get, hasToken, post, request } from './api'
import type {
  Ask, Call, Catalog, CatalogDiff, Failure, Frame, LogLine, Phase, ProgressParams, State, Violation,
} from './types'

/** How many frames the page keeps. Go has the others. */
export const keepFrames = 20_000
const keepLogs = 2_000

export type Link = 'opening' | 'live' | 'lost' | 'locked'

export const link = signal<Link>('opening')
export const linkError = signal<Failure | undefined>(undefined)
export const sources = signal<State[]>(
  boot.sources.map((s) => ({
    ...s,
    kind: '',
    phase: 'connecting' as Phase,
    since: new Date().toISOString(),
    inFlight: 0,
    steps: [],
    subscriptions: [],
    roots: [],
  })),
)
export const catalogs = signal<ReadonlyMap<number, Catalog>>(new Map())
/** The lists of a source before they changed last. */
export const earlier = new Map<number, Catalog>()
export const asks = signal<Ask[]>([])
export const diffs = signal<CatalogDiff[]>([])
export const violations = signal<Violation[]>([])
export const updated = signal<{ src: number; uri: string; at: number }[]>([])
export const savedFile = signal<{ file: string; writable: boolean } | undefined>(undefined)
export const savedTag = signal('')
export const by = signal(boot.by ?? '')

/** said is the status line; it is read out. */
export const said = signal('')
export const say = (text: string): void => {
  said.value = text
}

// Large lists are plain; a version signal counts their changes.
export const frames: Frame[] = []
export const framesBySeq = new Map<number, Frame>()
export const framesVersion = signal(0)
/** Frames that have left the page or memory, up to this one. */
export const gone = signal(0)
/** How often frames were dropped or replaced: rows made of them have to be made again. */
export const framesReset = signal(0)

export const calls = new Map<number, Call>()
export const callsVersion = signal(0)
export const logs = new Map<number, LogLine[]>() // by call; 0 for those of no call
export const logCounts = new Map<number, number>()
export const logsVersion = signal(0)
export const progress = new Map<number, ProgressParams>()

export const source = (id: number): State | undefined => sources.value.find((s) => s.id === id)
export const running = computed(() => {
  callsVersion.value
  return [...calls.values()].filter((c) => c.state === 'running')
})

/** hidden are the sources whose chips are switched off. */
export const hidden = signal<ReadonlySet<number>>(new Set())
export const shown = computed(() => sources.value.filter((s) => !hidden.value.has(s.id)))

let lastSeq = 0
const states = new Map<number, State>() // that lines have changed since the last drawing
const queue: string[] = []
let head = 0
let scheduled = false
let drained: (() => void) | undefined // continues reading
let drawing = 0 // timer of the next drawing
let taken = 0 // lines since the last drawing
const changed = { frames: false, calls: false, logs: false }

// A click or a key is answered first: until what it changes is painted, nothing is decoded. A page in the background
// paints nothing, so it waits no longer than that.
let answering = false
function decode(): void {
  answering = false
  if (head < queue.length) flush() // at once: clicks may come without a pause
}
function answerFirst(): void {
  answering = true
  requestAnimationFrame(() => setTimeout(decode))
  setTimeout(decode, 100)
}
for (const name of ['pointerdown', 'click', 'keydown']) addEventListener(name, answerFirst, true)

// In a task of its own, decoding lets clicks, keys and drawing go first.
function schedule(): void {
  if (scheduled || answering) return
  scheduled = true
  if ('scheduler' in window) void window.scheduler.postTask(flush, { priority: 'background' })
  else setTimeout(flush)
}

// A batch of lines is decoded at once, which takes less than a millisecond. A task takes at most slice
// milliseconds. The stream is not read while maxQueue lines wait, so Go waits, too.
const batch = 128
const slice = 6
const maxQueue = 5000

// In a flood, the lists and counters are drawn at intervals: 60 times a second would take longer than
// decoding, and cannot be read at that pace.
const flood = 100 // lines
const interval = 100 // milliseconds

function flush(): void {
  scheduled = false
  const end = performance.now() + slice
  while (head < queue.length && !answering && performance.now() < end) {
    const lines = JSON.parse(`[${queue.slice(head, (head += batch)).join()}]`) as Record<string, unknown>[]
    taken += lines.length
    for (const line of lines) {
      if (line['state']) states.set((line['state'] as State).id, line['state'] as State)
      else take(line)
    }
  }
  if (head < queue.length) schedule()
  else {
    queue.length = head = 0
    drained?.()
  }
  if (taken < flood && !queue.length) draw()
  else drawing ||= window.setTimeout(draw, interval)
}

// draw makes what the lines have changed visible.
function draw(): void {
  clearTimeout(drawing)
  drawing = taken = 0
  if (states.size) takeStates([...states.values()])
  states.clear()
  if (changed.frames) {
    trim()
    framesVersion.value++
  }
  if (changed.calls) callsVersion.value++
  if (changed.logs) logsVersion.value++
  changed.frames = changed.calls = changed.logs = false
}

// The names of the stream's lines, and what takes them.
const takers: Record<string, (value: never) => void> = {
  snapshot: takeSnapshot,
  lists: takeLists,
  frame: takeFrame,
  call: (call: Call) => {
    calls.set(call.id, call)
    changed.calls = true
    if (call.state !== 'running') settle(call)
  },
  progress: (p: { call: number; params: ProgressParams }) => {
    progress.set(p.call, p.params)
    changed.calls = true
  },
  log: (line: LogLine) => {
    const key = line.call ?? 0
    let list = logs.get(key)
    if (!list) logs.set(key, (list = []))
    list.push(line)
    if (list.length > keepLogs * 1.5) list.splice(0, list.length - keepLogs)
    logCounts.set(key, (logCounts.get(key) ?? 0) + 1)
    changed.logs = true
  },
  catalog: (diff: CatalogDiff) => {
    diffs.value = [diff, ...diffs.value].slice(0, 50)
    say(`${source(diff.src)?.name ?? 'A source'} changed its lists`)
  },
  updated: (u: { src: number; uri: string }) => {
    updated.value = [{ ...u, at: Date.now() }, ...updated.value].slice(0, 200)
    say(`${u.uri} has changed`)
  },
  ask: (ask: Ask) => {
    asks.value = [...asks.value.filter((a) => a.id !== ask.id), ask]
    say(`${source(ask.src)?.name ?? 'A server'} asks a question`)
  },
  answered: (a: { ask: number }) => {
    asks.value = asks.value.filter((ask) => ask.id !== a.ask)
  },
  gap: (gap: { from: number; to: number }) => {
    gone.value = Math.max(gone.value, gap.to)
  },
  calls: (c: { etag: string }) => {
    savedTag.value = c.etag
  },
  violation: (v: Violation) => {
    violations.value = [...violations.value, v].slice(-500)
  },
}

function take(line: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(line)) takers[name]?.(value as never)
}

function takeFrame(f: Frame): void {
  if (framesBySeq.has(f.seq)) return
  frames.push(f)
  framesBySeq.set(f.seq, f)
  if (f.seq > lastSeq) lastSeq = f.seq
  if (f.pair && f.kind !== 'request') {
    const request = framesBySeq.get(f.pair)
    if (request) request.pair = f.seq
  }
  changed.frames = true
}

function trim(): void {
  if (frames.length <= keepFrames * 1.1) return
  const dropped = frames.splice(0, frames.length - keepFrames)
  for (const f of dropped) framesBySeq.delete(f.seq)
  framesReset.value++
}

function takeStates(states: State[]): void {
  const list = [...sources.value]
  for (const state of states) {
    const index = list.findIndex((s) => s.id === state.id)
    const before = list[index]
    if (index < 0) list.push(state)
    else list[index] = state
    if (before && before.phase !== state.phase) say(`${state.name}: ${state.phase}`)
  }
  sources.value = list
}

function takeLists(lists: Catalog): void {
  const before = catalogs.value.get(lists.src)
  if (before?.etag === lists.etag) return
  if (before) earlier.set(lists.src, before)
  catalogs.value = new Map(catalogs.value).set(lists.src, lists)
}

/** Snapshot is the state of everything but frames and lists. A stream begins with it. */
interface Snapshot {
  by: string
  first: number
  seq: number
  calls: { file: string; writable: boolean } | null
  asks: Ask[]
  running: Call[]
  sources: State[]
}

function takeSnapshot(all: Snapshot): void {
  by.value = all.by
  savedFile.value = all.calls ?? undefined
  asks.value = all.asks
  gone.value = Math.max(gone.value, all.first - 1)
  const ended = running.value
  for (const call of all.running) calls.set(call.id, call)
  callsVersion.value++
  for (const { id } of ended) if (!all.running.some((call) => call.id === id)) void takeOutcome(id)
  states.clear() // they are older
  takeStates(all.sources)
}

// takeOutcome asks how a call has ended, if the stream was interrupted or has lost the line that said so. If that
// fails, the next snapshot asks again. A call that is newer than the snapshot still runs, and its line will come.
async function takeOutcome(id: number): Promise<void> {
  const call = await get<Call>(`call/${id}`).catch(() => undefined)
  if (!call || call.state === 'running') return
  queue.push(JSON.stringify({ call }))
  schedule()
}

// follow reads the stream until it ends. One request brings the state, the lists and everything after.
async function follow(): Promise<void> {
  const response = await request(`stream?after=${lastSeq}`)
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const text = decoder.decode(value, { stream: true })
    const end = text.lastIndexOf('\n')
    if (end < 0) {
      rest += text
      continue
    }
    for (const line of (rest + text.slice(0, end)).split('\n')) if (line.length > 2) queue.push(line)
    rest = text.slice(end + 1)
    if (link.value === 'live') schedule()
    else {
      link.value = 'live'
      linkError.value = undefined
      flush() // the snapshot, without waiting
    }
    if (queue.length - head > maxQueue) await new Promise<void>((resolve) => (drained = resolve))
  }
}

/** start connects to Go, and again whenever the connection ends. */
export async function start(): Promise<void> {
  for (let wait = 500; ; wait = Math.min(wait * 1.6, 5000)) {
    if (!hasToken()) {
      link.value = 'locked'
      return
    }
    try {
      await follow()
    } catch (error) {
      linkError.value = failureOf(error)
      if (error instanceof ApiError && error.http === 401) {
        link.value = 'locked'
        return
      }
    }
    if (link.value === 'live') wait = 500
    link.value = 'lost'
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

const settling = new Map<number, (call: Call) => void>()

function settle(call: Call): void {
  settling.get(call.id)?.(call)
  settling.delete(call.id)
}

export interface CallRequest {
  source: number
  method: string
  /** JSON text: it goes out byte for byte. */
  params: string
  meta?: string
  timeout?: number
  sendAnyway?: boolean
  cause?: 'user' | 'retry'
}

/** call starts a call. ended resolves when it has ended. */
export async function call(r: CallRequest): Promise<{ id: number; ended: Promise<Call> }> {
  const parts = [`"source":${r.source}`, `"method":${JSON.stringify(r.method)}`, `"params":${r.params}`]
  if (r.meta) parts.push(`"meta":${r.meta}`)
  if (r.timeout !== undefined) parts.push(`"timeout":${r.timeout}`)
  if (r.sendAnyway) parts.push('"send_anyway":true')
  parts.push(`"cause":"${r.cause ?? 'user'}"`)
  const { call: id } = await post<{ call: number }>('call', `{${parts.join(',')}}`)
  const ended = new Promise<Call>((resolve) => {
    const known = calls.get(id)
    if (known && known.state !== 'running') resolve(known)
    else settling.set(id, resolve)
  })
  if (!calls.has(id)) {
    calls.set(id, { id, src: r.source, method: r.method, state: 'running', started: Date.now() * 1e6 })
    callsVersion.value++
  }
  return { id, ended }
}

export const cancel = (id: number): Promise<unknown> => post('cancel', { call: id })
