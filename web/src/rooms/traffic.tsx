// Traffic: every message in the order of its time, and the details of one of them.
import { effect, signal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { download, failureOf, get, request } from '../api'
import { bytes, count, plural, timeOfDay } from '../format'
import { param, room, setParams } from '../route'
import { answerOf, endOf, liveRows, type Row, Rows, titleOf, type View } from '../rows'
import {
  frames, framesBySeq, framesReset, framesVersion, gone, hidden, say, source, sources,
} from '../store'
import { useKeys } from '../keys'
import type { Failure, Frame } from '../types'
import { Icon, layout, setLayout, Splitter } from '../ui/kit'
import { VirtualList } from '../ui/list'
import { Details, detailTabs } from './frame'

interface Found {
  frames: Frame[]
  /** Responses to requests in frames that are not there themselves. */
  answers?: Frame[]
  total?: number
  kept?: number
  problem?: { text: string; at?: [number, number] }
}

const pageSize = 2000

const paused = signal(false)
const cleared = signal(0)
/** marked is the frame that others are compared with. */
export const marked = signal(0)
const found = signal<Found | undefined>(undefined)
const searchError = signal<Failure | undefined>(undefined)
const older = signal<Frame[]>([])

/** fetched is a frame that the page does not keep, but Go does. */
const fetched = signal<Frame | undefined>(undefined)

async function fetchFrame(seq: number): Promise<void> {
  const { frames: list } = await get<{ frames: Frame[] }>(`frames?from=${seq}&to=${seq}`).catch(() => ({ frames: [] as Frame[] }))
  fetched.value = list.find((f) => f.seq === seq)
}

const selectedSeq = (): number => Number(param('at')) || 0

// The filter runs in Go, again while frames come.
let searching: AbortController | undefined
let again = 0

async function search(text: string): Promise<void> {
  searching?.abort()
  const abort = (searching = new AbortController())
  try {
    const answer = await get<Found>(`search?q=${encodeURIComponent(text)}&limit=${pageSize}`, abort.signal)
    found.value = answer
    searchError.value = undefined
  } catch (error) {
    if (!abort.signal.aborted) searchError.value = failureOf(error)
  }
}

effect(() => {
  const text = room.value === 'f' ? param('q') : ''
  framesVersion.value
  clearTimeout(again)
  if (!text) {
    searching?.abort()
    found.value = undefined
    searchError.value = undefined
    return
  }
  if (paused.peek() && found.peek()) return
  again = window.setTimeout(() => void search(text), found.peek() ? 250 : 60)
})

/** loadOlder asks Go for frames that the page no longer has. */
async function loadOlder(): Promise<void> {
  const text = param('q')
  const first = text ? found.value?.frames[0]?.seq : (older.value[0] ?? frames[0])?.seq
  if (!first) return
  try {
    if (text) {
      const more = await get<Found>(`search?q=${encodeURIComponent(text)}&before=${first}&limit=${pageSize}`)
      const now = found.value
      if (now) found.value = { ...now, frames: [...more.frames, ...now.frames], answers: [...(more.answers ?? []), ...(now.answers ?? [])] }
      return
    }
    const more = await get<{ frames: Frame[] }>(`frames?to=${first - 1}&limit=${pageSize}`)
    older.value = [...more.frames, ...older.value].slice(0, 20_000)
  } catch (error) {
    searchError.value = failureOf(error)
  }
}

const noteworthy = (f: Frame): string => {
  if (f.err || f.error || f.isError || f.kind === 'junk' || (f.status ?? 0) >= 400) return 'failed'
  return f.kind === 'stderr' ? 'stderr' : ''
}

const direction = (f: Frame, answer: Frame | undefined): [sign: string, word: string] => {
  if (f.kind === 'step') return ['·', 'step']
  const out = f.d === 'out'
  if (f.kind === 'request') return answer || f.pair ? [out ? '▸◂' : '◂▸', 'request and response'] : [out ? '▸' : '◂', 'open request']
  return out ? ['▸', 'sent'] : ['◂', 'received']
}

/** RowLine is a row of the list. span is the time that the waterfall shows. */
function RowLine({ row, rows, before, span }: { row: Row; rows: Rows; before: Row | undefined; span: [number, number] }) {
  const f = row.first
  const answer = answerOf(f, rows.all)
  const [method, rest] = titleOf(f)
  const [sign, word] = direction(f, answer)
  const took = answer?.took ?? f.took
  const [from, to] = span
  const length = Math.max(1, to - from)
  const left = Math.max(0, Math.min(99, ((f.ns - from) / length) * 100))
  const isOpen = f.kind === 'request' && !answer && !f.pair
  const width = isOpen ? 100 - left : Math.max(1, ((endOf(row, rows.all) - f.ns) / length) * 100)
  const fault = answer?.err?.text ?? f.err?.text ?? (answer?.isError ? 'tool error' : '')
  return (
    <>
      <span class="c-seq">{f.seq === marked.value ? '◆ ' : ''}{f.seq}</span>
      <span class="c-time">{timeOfDay(f.ns)}</span>
      <span class="c-delta">{before ? `+${((f.ns - before.first.ns) / 1e9).toFixed(3)}` : ''}</span>
      <span class="c-took">{took !== undefined ? (took / 1e6).toFixed(3) : isOpen ? '(open)' : f.kind === 'notification' ? 'notif' : ''}</span>
      <span class="c-size">{bytes(row.run ? row.run.reduce((n, r) => n + (r.bytes ?? 0), 0) : (answer?.bytes ?? f.bytes))}</span>
      <span class="c-sign" title={word}>{sign}</span>
      {sources.value.length > 1 && <span class="c-source">{source(f.src)?.name.slice(0, 60)}</span>}
      <span class="c-what">
        {row.inRun && <span class="muted">└ </span>}
        <b>{method.slice(0, 200)}</b>
        {row.run && <span class="times"> ×{count(row.run.length)}{rows.isOpen(row) ? ' ▾' : ' ▸'}</span>}
        {!row.run && rest && <span class="rest"> {rest.slice(0, 300)}</span>}
        {fault && <span class="error-text"> ✗ {fault.slice(0, 200)}</span>}
        {f.cause && f.cause !== 'user' && <span class="muted"> {f.cause}</span>}
      </span>
      <span class="c-fall" aria-hidden="true">
        <i class={isOpen ? 'open' : answer?.err || answer?.isError ? 'bad' : ''} style={{ left: `${left}%`, width: `${Math.min(100 - left, width)}%` }} />
      </span>
    </>
  )
}

// spanOf returns the times that a part of the rows covers.
const spans = new WeakMap<Rows, { key: string; span: [number, number] }>()
function spanOf(rows: Rows, first: number, last: number): [number, number] {
  const key = `${first} ${last} ${framesVersion.value} ${rows.rows.length}`
  const known = spans.get(rows)
  if (known?.key === key) return known.span
  let from = Infinity
  let to = 0
  for (let i = first; i < last; i++) {
    const row = rows.rows[i]!
    from = Math.min(from, row.first.ns)
    to = Math.max(to, endOf(row, rows.all))
  }
  const span: [number, number] = [from, to]
  spans.set(rows, { key, span })
  return span
}

export function Traffic() {
  const text = param('q')
  const typed = useSignal(text)
  const timer = useRef(0)
  const followed = useRef(text)
  const picker = useRef<HTMLInputElement>(null)
  const made = useRef<Rows | undefined>(undefined)
  const fromSearch = useRef<Rows | undefined>(undefined)
  const holding = useRef(0)
  const toggled = useSignal(0)
  const openProblem = useSignal<Failure | undefined>(undefined)
  const transport = layout.value['transport'] === 'yes'

  const view = useComputed<View>(() => ({
    transport: layout.value['transport'] === 'yes',
    after: cleared.value,
    hidden: hidden.value,
  }))
  const searchView = useComputed<View>(() => ({ transport: true, after: 0, hidden: hidden.value }))

  // The address follows what is typed a moment later. Only another address replaces the text:
  // the user may have typed on since.
  useEffect(() => {
    if (text === followed.current) return
    followed.current = text
    typed.value = text
  }, [text])

  // A recording has an address by its name, which is that of its source.
  const file = param('file')
  useEffect(() => {
    if (file) setParams({ file: undefined, q: `@"${file}" ${text}`.trim() })
  }, [file])

  if (!paused.value) framesVersion.value
  framesReset.value
  toggled.value
  const rowsOf = (): Rows => {
    if (text && found.value) {
      const { frames: list, answers = [] } = found.value
      const now = fromSearch.current
      if (!now || now.list !== list || now.view !== searchView.value) {
        fromSearch.current = new Rows(list, new Map([...answers, ...list].map((f) => [f.seq, f])), searchView.value).take()
      }
      return fromSearch.current!
    }
    if (older.value.length) {
      const now = made.current
      const list = [...older.value, ...frames]
      if (now && now.list.length === list.length && now.view === view.value && now.list[0] === list[0]) return now
      return (made.current = new Rows(list, new Map(list.map((f) => [f.seq, f])), view.value).take())
    }
    return (made.current = liveRows(made.current, view.value))
  }
  const rows = paused.value && made.current && !text ? made.current : rowsOf()
  if (!paused.value) holding.current = frames.length
  const list = rows.rows
  const at = selectedSeq()
  const selected = rows.indexOf(at)
  const known = at ? (rows.all.get(at) ?? framesBySeq.get(at)) : undefined
  const chosen = known ?? (fetched.value?.seq === at ? fetched.value : undefined)
  const isUnknown = at > 0 && !chosen
  useEffect(() => {
    if (isUnknown) void fetchFrame(at)
  }, [at, isUnknown])

  const choose = (i: number) => setParams({ at: String(list[i]!.first.seq) })
  const setFilter = (value: string) => {
    typed.value = value
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      followed.current = value
      setParams({ q: value || undefined })
    }, 120)
  }
  const openFile = async (file: File | undefined) => {
    if (!file) return
    openProblem.value = undefined
    try {
      const packed = file.name.endsWith('.gz')
      const body = packed ? await new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).blob() : file
      const { source: id } = await upload(body)
      const name = await nameOf(id)
      say(`Opened ${file.name}`)
      setParams({ q: name ? `@"${name}"` : undefined })
    } catch (error) {
      openProblem.value = failureOf(error)
    }
  }
  useKeys({
    p: () => (paused.value = !paused.value),
    m: () => at > 0 && mark(at),
    ...Object.fromEntries(detailTabs.map((t, i) => [String(i + 1), () => at > 0 && setParams({ tab: i ? t.id : undefined })])),
  })
  const mark = (seq: number) => {
    marked.value = marked.value === seq ? 0 : seq
    say(marked.value ? `Frame ${seq} is marked` : 'No frame is marked')
  }

  const firstSeq = list[0]?.first.seq ?? 0
  const inPage = frames[0]?.seq ?? 1
  const isPast = !text && !older.value.length ? inPage > gone.value + 1 && frames.length > 0 : false
  const canLoad = text ? (found.value?.total ?? 0) > (found.value?.frames.length ?? 0) : isPast || (older.value[0]?.seq ?? 0) > gone.value + 1
  const problem = found.value?.problem
  return (
    <section
      class="room traffic"
      aria-label="Traffic"
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault()
        void openFile(e.dataTransfer?.files[0])
      }}
    >
      <div class="traffic-bar">
        <h2 class="sr">Traffic</h2>
        <label class="filter">
          <Icon name="search" />
          <input
            type="search"
            class="small"
            data-filter
            aria-label="Filter frames"
            placeholder="Filter: method:tools/call slow:>200ms -ping"
            spellcheck={false}
            autocomplete="off"
            list="filter-terms"
            aria-invalid={problem ? true : undefined}
            aria-describedby={problem ? 'filter-problem' : undefined}
            value={typed.value}
            onInput={(e) => setFilter(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === 'ArrowDown' && !typed.value.endsWith(':')) document.querySelector<HTMLElement>('[data-list=traffic]')?.focus()
            }}
          />
          <datalist id="filter-terms">
            {terms.map((t) => (
              <option value={t} />
            ))}
          </datalist>
        </label>
        <span class="figure" role="status" data-shown>
          {text
            ? `${count(found.value?.total ?? 0)} of ${count(found.value?.kept ?? 0)}`
            : plural(list.length, 'row')}
        </span>
        <label class="check">
          <input type="checkbox" checked={transport} onChange={(e) => setLayout('transport', e.currentTarget.checked ? 'yes' : 'no')} />
          HTTP and steps
        </label>
        <span class="spacer" />
        <button type="button" class="small" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)} title="Pause (p)">
          {paused.value ? <Resume from={text ? -1 : holding.current} /> : 'Pause'}
        </button>
        {cleared.value ? (
          <button type="button" class="small" onClick={() => (cleared.value = 0)}>
            Show all again
          </button>
        ) : (
          <button type="button" class="small" onClick={() => (cleared.value = frames.at(-1)?.seq ?? 0)} title="Hide the frames so far; nothing is deleted">
            Clear
          </button>
        )}
        <button type="button" class="small" onClick={() => picker.current?.click()}>
          Open recording
        </button>
        <input
          ref={picker}
          type="file"
          hidden
          accept=".mcplog,.gz"
          aria-label="Recording"
          onChange={(e) => {
            void openFile(e.currentTarget.files?.[0])
            e.currentTarget.value = ''
          }}
        />
        <button
          type="button"
          class="small"
          title="Download the frames that match as a recording"
          onClick={() => void download(`record?q=${encodeURIComponent(text)}`, 'inspect.mcplog').catch((e) => (openProblem.value = failureOf(e)))}
        >
          Save recording
        </button>
      </div>
      {problem && (
        <p class="warn-text traffic-note" id="filter-problem">
          ⚠ {problem.text}
          {problem.at && <> at “{typed.value.slice(...problem.at)}”</>}
        </p>
      )}
      {(searchError.value || openProblem.value) && (
        <p class="error-text traffic-note">✗ {(searchError.value ?? openProblem.value)!.text}</p>
      )}
      {(gone.value > 0 || canLoad) && firstSeq > 0 && (
        <p class="traffic-note gap">
          {gone.value > 0 && <>Frames 1–{count(gone.value)} have left memory. </>}
          {canLoad && (
            <button type="button" class="link" onClick={() => void loadOlder()}>
              Load {count(pageSize)} older frames
            </button>
          )}
        </p>
      )}
      <div class="traffic-split">
        <div class="traffic-list" data-region="list" style={chosen ? { height: `${Number(layout.value['frames'] ?? 320)}px` } : undefined}>
          <div class="row-head" aria-hidden="true">
            <span class="c-seq">#</span>
            <span class="c-time">time</span>
            <span class="c-delta">Δ s</span>
            <span class="c-took">ms</span>
            <span class="c-size">size</span>
            <span class="c-sign">◂▸</span>
            {sources.value.length > 1 && <span class="c-source">source</span>}
            <span class="c-what">method / name</span>
            <span class="c-fall">waterfall</span>
          </div>
          {!list.length && (
            <p class="nothing">
              {text ? (
                <>
                  No frame matches <code>{text.slice(0, 200)}</code>.{' '}
                  <button type="button" class="link" onClick={() => setFilter('')}>
                    Clear the filter
                  </button>
                </>
              ) : (
                'No frame yet'
              )}
            </p>
          )}
          {list.length > 0 && <VirtualList
            id="traffic"
            label="Frames"
            count={list.length}
            selected={selected}
            onSelect={choose}
            onOpen={(i) => {
              if (rows.toggle(i)) toggled.value++
              else document.querySelector<HTMLElement>('.details [role=tab][aria-selected=true]')?.focus()
            }}
            follow={!at && !paused.value}
            extra="frames"
            rowClass={(i) => noteworthy(list[i]!.first) || (answerOf(list[i]!.first, rows.all)?.err ? 'failed' : '')}
            row={(i, first, last) => (
              <RowLine row={list[i]!} rows={rows} before={list[i - 1]} span={spanOf(rows, first, Math.min(last, list.length))} />
            )}
          />}
        </div>
        {chosen && (
          <>
            <Splitter name="frames" initial={320} min={96} max={1200} />
            <Details key={0} frame={chosen} all={rows.all} mark={mark} />
          </>
        )}
        {at > 0 && !chosen && <p class="traffic-note muted">Frame {count(at)} is not in the page or not kept.</p>}
      </div>
    </section>
  )
}

// nameOf waits until a new source is known.
async function nameOf(id: number): Promise<string | undefined> {
  for (let i = 0; i < 60 && !source(id); i++) await new Promise((resolve) => setTimeout(resolve, 50))
  return source(id)?.name
}

// Resume names the button that ends a pause; it counts while the list does not move.
function Resume({ from }: { from: number }) {
  framesVersion.value
  const waiting = from < 0 ? 0 : frames.length - from
  return <>Resume{waiting > 0 ? `, ${count(waiting)} new` : ''}</>
}

// upload shows a recording as one more source.
async function upload(body: Blob): Promise<{ source: number }> {
  const response = await request('open', { method: 'POST', body })
  return (await response.json()) as { source: number }
}

const terms = [
  'method:tools/call', 'is:error', 'is:open', 'is:slow', 'is:notification', 'slow:>200ms', 'larger:1MB', 'kind:stderr',
  'kind:step', 'kind:junk', 'dir:in', 'dir:out', 'ch:sse', 'status:4xx', 'cause:user', 'cause:app',
]
