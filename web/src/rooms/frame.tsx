// The details of a frame: the request and its response, headers, bytes and times.
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { type Body, download, failureOf, firstPart, get, loadBody, request } from '../api'
import { bytes, count, duration, timeOfDay, tokens } from '../format'
import * as json from '../json'
import { address, go, param, setParams } from '../route'
import { answerOf, isAnswer } from '../rows'
import { isDestructive, saveCall } from '../saved'
import { mayDestroy, useConsent } from '../ui/consent'
import { call, calls, framesBySeq, frames, say, source, sources } from '../store'
import type { Failure, Frame } from '../types'
import { useKeys } from '../keys'
import { CodeArea } from '../ui/editor'
import { Fact, Key, layout, Menu, Problem, Tabs } from '../ui/kit'
import { VirtualList } from '../ui/list'
import { copyItems } from '../ui/result'
import { TextView } from '../ui/text'
import { JSONTree } from '../ui/tree'
import { marked } from './traffic'

export const detailTabs = [
  { id: 'request', label: 'Request' },
  { id: 'response', label: 'Response' },
  { id: 'headers', label: 'Headers' },
  { id: 'bytes', label: 'Bytes' },
  { id: 'timing', label: 'Timing' },
]

/** useBody loads the start of a frame's bytes, or all of them. */
function useBody(seq: number | undefined) {
  const body = useSignal<Body | undefined>(undefined)
  const problem = useSignal<Failure | undefined>(undefined)
  const all = useSignal(false)
  useEffect(() => {
    all.value = false
  }, [seq])
  const whole = all.value
  useEffect(() => {
    problem.value = undefined
    if (!seq) {
      body.value = undefined
      return undefined
    }
    const abort = new AbortController()
    loadBody(seq, whole, abort.signal).then(
      (b) => (body.value = b),
      (error) => {
        if (abort.signal.aborted) return
        body.value = undefined
        problem.value = failureOf(error)
      },
    )
    return () => abort.abort()
  }, [seq, whole])
  return { body: body.value, problem: problem.value, loadAll: () => (all.value = true) }
}

/** Message shows the JSON of a frame, or its text. */
function Message({ frame, id }: { frame: Frame | undefined; id: string }) {
  const { body, problem, loadAll } = useBody(frame?.seq)
  const root = useMemo(() => (body && /^\s*[[{]/.test(body.text) ? json.rootOf(body.text) : undefined), [body])
  if (!frame) return <p class="muted pad">There is none.</p>
  if (problem) return <Problem of={problem} />
  if (!body) return null
  return (
    <>
      {!body.whole && (
        <div class="partial" role="note">
          The first {bytes(firstPart)} of {bytes(body.total)}.{' '}
          <button type="button" class="link" onClick={loadAll}>
            Show all
          </button>{' '}
          <button type="button" class="link" onClick={() => void save(frame)}>
            Save
          </button>
        </div>
      )}
      {root ? (
        <JSONTree root={root} label={`Frame ${frame.seq}`} id={id} depth={3} />
      ) : (
        <TextView text={body.text || frame.text || frame.err?.text || frame.error || frame.detail || '(empty)'} label={`Frame ${frame.seq}`} />
      )}
    </>
  )
}

const save = (frame: Frame): Promise<void> =>
  download(`frames/${frame.seq}`, `frame-${frame.seq}.json`).catch((error) => say(failureOf(error).text))

/** Bytes shows the exact bytes, as text or in hexadecimal. */
function Bytes({ frame }: { frame: Frame }) {
  const data = useSignal<{ seq: number; bytes: Uint8Array; total: number } | undefined>(undefined)
  const problem = useSignal<Failure | undefined>(undefined)
  const hex = useSignal(false)
  const row = useSignal(-1)
  useEffect(() => {
    const abort = new AbortController()
    problem.value = undefined
    request(`frames/${frame.seq}`, { headers: { Range: `bytes=0-${firstPart - 1}` }, signal: abort.signal })
      .then(async (response) => {
        const total = Number(/\/(\d+)$/.exec(response.headers.get('Content-Range') ?? '')?.[1] ?? 0)
        const read = new Uint8Array(await response.arrayBuffer())
        data.value = { seq: frame.seq, bytes: read, total: total || read.length }
      })
      .catch((error) => {
        if (!abort.signal.aborted) problem.value = failureOf(error)
      })
    return () => abort.abort()
  }, [frame.seq])
  const text = useMemo(() => (data.value ? new TextDecoder().decode(data.value.bytes) : ''), [data.value])
  if (problem.value) return <Problem of={problem.value} />
  if (!data.value) return null
  const { bytes: read, total } = data.value
  return (
    <>
      <div class="content-bar">
        <span class="figure">{count(total)} bytes</span>
        {read.length < total && <span class="muted">the first {bytes(read.length)}</span>}
        <span class="figure muted">{preciseTime(frame.ns)}</span>
        <button type="button" class="quiet small" aria-pressed={hex.value} onClick={() => (hex.value = !hex.value)}>
          {hex.value ? 'Show as text' : 'Show in hex'}
        </button>
        <button type="button" class="quiet small" onClick={() => void save(frame)}>
          Save all
        </button>
      </div>
      {hex.value ? (
        <VirtualList
          id="hex"
          label="Bytes in hexadecimal"
          count={Math.ceil(read.length / 16)}
          height={18}
          selected={row.value}
          onSelect={(i) => (row.value = i)}
          extra="text"
          row={(i) => hexLine(read, i * 16)}
        />
      ) : (
        <TextView text={text} label="Bytes" wrap={layout.value['wrap'] !== 'no'} />
      )}
    </>
  )
}

function hexLine(data: Uint8Array, at: number): string {
  const part = [...data.subarray(at, at + 16)]
  const hex = part.map((b) => b.toString(16).padStart(2, '0')).join(' ')
  const plain = part.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : '.')).join('')
  return `${at.toString(16).padStart(8, '0')}  ${hex.padEnd(48)} ${plain}`
}

// preciseTime returns a time with microseconds, which is what a number of JavaScript can hold.
const preciseTime = (ns: number): string => timeOfDay(ns) + String(Math.floor(ns / 1e3) % 1000).padStart(3, '0')

// headsOf returns the HTTP heads that belong to frames: those of the same exchange.
function headsOf(all: ReadonlyMap<number, Frame>, ...of: (Frame | undefined)[]): Frame[] {
  const streams = new Set(of.flatMap((f) => (f?.stream ? [`${f.src} ${f.stream}`] : [])))
  const seen = new Map<number, Frame>()
  for (const f of of) if (f?.headers) seen.set(f.seq, f)
  if (streams.size) {
    for (const list of [frames, all.values()]) {
      for (const f of list) if (f.headers && streams.has(`${f.src} ${f.stream}`)) seen.set(f.seq, f)
    }
  }
  return [...seen.values()].sort((a, b) => a.seq - b.seq)
}

function Headers({ heads }: { heads: Frame[] }) {
  if (!heads.length) return <p class="muted pad">This connection has no headers.</p>
  return (
    <div class="pad">
      {heads.slice(0, 40).map((h) => (
        <section key={h.seq} class="head">
          <h3>
            {h.d === 'out' ? '▸' : '◂'} {h.verb ? `${h.verb} ${h.url ?? ''}` : `Status ${h.status ?? ''}`}
          </h3>
          <dl class="facts compact">
            {Object.entries(h.headers ?? {}).map(([name, values]) => (
              <Fact name={name}>{values.join(', ')}</Fact>
            ))}
          </dl>
        </section>
      ))}
    </div>
  )
}

function Timing({ frame, answer, heads }: { frame: Frame; answer: Frame | undefined; heads: Frame[] }) {
  const status = heads.find((h) => h.status)
  const wait = status?.wait ?? 0
  const took = answer?.took ?? frame.took
  const parts: [string, number][] = []
  if (took !== undefined) {
    if (wait && wait < took) parts.push(['until the first byte', wait], ['reading', took - wait])
    else parts.push(['until the answer', took])
  }
  const running = calls.get(frame.call ?? 0)
  return (
    <div class="pad">
      {parts.length > 0 && (
        <div class="time-parts" role="img" aria-label={parts.map(([name, ns]) => `${name}: ${duration(ns)}`).join(', ')}>
          {parts.map(([name, ns]) => (
            <div class="time-part" style={{ flexGrow: String(Math.max(0.02, ns / took!)) }}>
              <i />
              <span>
                {name} <b>{duration(ns)}</b>
              </span>
            </div>
          ))}
        </div>
      )}
      <dl class="facts">
        <Fact name={frame.d === 'in' ? 'Received' : 'Sent'}>
          {preciseTime(frame.ns)}
        </Fact>
        {answer && (
          <Fact name="Answered">
            {preciseTime(answer.ns)} <span class="muted">frame {count(answer.seq)}</span>
          </Fact>
        )}
        {took !== undefined && <Fact name="Took">{duration(took)}</Fact>}
        {!answer && frame.kind === 'request' && <Fact name="Answer">none yet</Fact>}
        <Fact name="Size">
          {bytes(frame.bytes)}
          {answer && (
            <>
              {' '}
              sent, {bytes(answer.bytes)} received, {tokens(Math.ceil((answer.bytes ?? 0) / 4))}
            </>
          )}
        </Fact>
        <Fact name="Channel">
          {[frame.ch, frame.stream ? `stream ${frame.stream}` : ''].filter(Boolean).join(', ') || 'memory'}
        </Fact>
        {frame.id !== undefined && <Fact name="JSON-RPC id">{JSON.stringify(frame.id)}</Fact>}
        {status?.status && <Fact name="HTTP status">{status.status}</Fact>}
        {status?.remote && <Fact name="Connection">{`${status.reused ? 'used before' : 'new'}, to ${status.remote}`}</Fact>}
        <Fact name="Cause">{frame.cause ?? 'protocol'}</Fact>
        {frame.call && (
          <Fact name="Call">
            <button type="button" class="link" onClick={() => setParams({ q: `call:${frame.call}` })}>
              {frame.call}
            </button>
            {running?.logs ? <span class="muted">, {count(running.logs)} log lines</span> : null}
          </Fact>
        )}
        <Fact name="Source">{source(frame.src)?.name ?? String(frame.src)}</Fact>
      </dl>
    </div>
  )
}

interface Difference {
  pointer: string
  before?: unknown
  after?: unknown
}

/** Differences shows where two frames differ. */
export function Differences({ a, b }: { a: number; b: number }) {
  const list = useSignal<Difference[] | undefined>(undefined)
  const problem = useSignal<Failure | undefined>(undefined)
  useEffect(() => {
    list.value = undefined
    problem.value = undefined
    get<{ differences: Difference[] }>(`diff?a=${a}&b=${b}`).then(
      (d) => (list.value = d.differences),
      (error) => (problem.value = failureOf(error)),
    )
  }, [a, b])
  if (problem.value) return <Problem of={problem.value} />
  if (!list.value) return null
  const shown = list.value.filter((d) => d.pointer !== '/id') // every request has another
  if (!shown.length) return <p class="ok-text pad">✓ Frames {count(a)} and {count(b)} are equal{list.value.length > 0 && ', except for the id'}.</p>
  const short = (v: unknown) => (v === undefined ? '' : (JSON.stringify(v) ?? '').slice(0, 400))
  return (
    <div class="diff" tabIndex={0} role="region" aria-label={`Differences of frames ${a} and ${b}`}>
      <table>
        <thead>
          <tr>
            <th>where</th>
            <th>frame {count(a)}</th>
            <th>frame {count(b)}</th>
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, 500).map((d) => (
            <tr key={d.pointer}>
              <td>
                <code>{d.pointer || '/'}</code>
              </td>
              <td class="less">{d.before === undefined ? <i class="muted">absent</i> : <>− {short(d.before)}</>}</td>
              <td class="more">{d.after === undefined ? <i class="muted">absent</i> : <>+ {short(d.after)}</>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length > 500 && <p class="muted">{count(shown.length - 500)} more</p>}
    </div>
  )
}

// Compared shows the differences of two frames, and of their answers.
function Compared({ a, b, all }: { a: Frame | undefined; b: Frame; all: ReadonlyMap<number, Frame> }) {
  if (!a) return <p class="muted pad">The marked frame is not in the page.</p>
  const [left, right] = [answerOf(a, all) ?? answerOf(a), answerOf(b, all) ?? answerOf(b)]
  if (!left || !right) return <Differences a={a.seq} b={b.seq} />
  return (
    <div class="details-body compared">
      <h4>Requests</h4>
      <Differences a={a.seq} b={b.seq} />
      <h4>Responses</h4>
      <Differences a={left.seq} b={right.seq} />
    </div>
  )
}

/** requestOf returns the method and the params of a request, without what the transport added. */
export async function requestOf(f: Frame): Promise<{ method: string; params: string }> {
  const body = await loadBody(f.seq, true)
  const root = json.parse(body.text)
  const params = json.at(root, ['params'])
  const plain = params?.t === 'object' ? json.set(params, ['_meta'], undefined) : params
  return { method: f.method ?? '', params: plain ? json.compact(plain) : '{}' }
}

/** addressOf returns the room of a call with its arguments, or undefined. */
export function addressOf(method: string, name: string, params: string, src: number | undefined): string | undefined {
  let a: string | undefined
  try {
    const value = json.at(json.parse(params), ['arguments'])
    a = value && json.compact(value)
  } catch {
    // params that are being edited: the link leads to empty arguments
  }
  const s = sources.value.length > 1 && src !== undefined ? source(src)?.name : undefined
  if (method === 'tools/call') return address('t', name, { a: (a?.length ?? 0) < 4000 ? a : undefined, s })
  if (method === 'prompts/get') return address('p', name, { a, s })
  return method === 'resources/read' ? address('r', name, { s }) : undefined
}

/** Details shows a frame, or the difference to the marked one. */
export function Details({ frame, all, mark }: { frame: Frame; all: ReadonlyMap<number, Frame>; mark: (seq: number) => void }) {
  const problem = useSignal<Failure | undefined>(undefined)
  const [ask, question, withdraw] = useConsent('Call again')
  const editing = useSignal<{ seq: number; method: string; params: string; target: number } | undefined>(undefined)
  // A comparison belongs to the frame that it was asked for.
  const asksCompared = useSignal({ seq: 0, to: 0 })
  const comparing = asksCompared.value.seq === frame.seq ? asksCompared.value.to : 0
  const answered = isAnswer(frame) ? (all.get(frame.pair!) ?? framesBySeq.get(frame.pair!)) : undefined
  const asked = answered ?? frame
  const answer = answered ? frame : (answerOf(frame, all) ?? answerOf(frame))
  const heads = headsOf(all, asked, answer)
  const canReplay = asked.kind === 'request' && asked.d === 'out'
  const wanted = param('tab')
  const tab = detailTabs.some((t) => t.id === wanted) ? wanted : 'request'

  useEffect(() => {
    problem.value = undefined
    withdraw()
    if (editing.value?.seq !== asked.seq) editing.value = undefined
  }, [frame.seq])

  const send = async (target: number, method: string, params: string) => {
    problem.value = undefined
    const edited = editing.peek()
    try {
      const { id, ended } = await call({ source: target, method, params, sendAnyway: true, cause: 'retry' })
      say(`Sent ${method} again`)
      const done = await ended
      if (editing.peek() !== edited) return // another edit has begun: it stays in view
      editing.value = undefined
      if (done.request) go(address('f', '', { q: param('q'), at: String(done.request), tab: 'response' }))
      else problem.value = done.error ?? { text: `call ${id} was ${done.state}` }
    } catch (error) {
      problem.value = failureOf(error)
    }
  }
  const guarded = (target: number, method: string, name: string | undefined, run: () => void) =>
    ask(isDestructive(target, method, name) && `${mayDestroy(name)}. Call it again?`, run)
  const replay = () => {
    if (!canReplay) return
    guarded(asked.src, asked.method!, asked.name, () => {
      requestOf(asked).then((r) => send(asked.src, r.method, r.params), (error) => (problem.value = failureOf(error)))
    })
  }
  const edit = () => {
    if (!canReplay) return
    requestOf(asked).then(
      (r) => (editing.value = { seq: asked.seq, method: r.method, params: json.print(json.parse(r.params)), target: asked.src }),
      (error) => (problem.value = failureOf(error)),
    )
  }
  const keep = () => {
    if (!canReplay) return
    requestOf(asked).then((r) => saveCall(asked.src, r.method, r.params)).catch((error) => (problem.value = failureOf(error)))
  }
  const compare = () => {
    if (marked.value && marked.value !== frame.seq) asksCompared.value = { seq: frame.seq, to: comparing ? 0 : marked.value }
    else say('Mark another frame first, with m')
  }
  useKeys({ r: replay, e: edit, c: compare, s: keep })

  const e = editing.value
  const panel = 'frame-panel'
  return (
    <section class="details" aria-label={`Frame ${frame.seq}`} data-region="work">
      <header class="details-bar">
        {comparing ? (
          <h3>
            Frames {count(comparing)} and {count(frame.seq)}
          </h3>
        ) : (
          <Tabs label="Details of the frame" panel={panel} tabs={detailTabs} value={tab} onChange={(t) => setParams({ tab: t === 'request' ? undefined : t })} />
        )}
        <span class="spacer" />
        {canReplay && (
          <>
            <button type="button" class="small" onClick={replay}>
              Replay <Key of="r" />
            </button>
            <button type="button" class="small" onClick={edit}>
              Edit and replay <Key of="e" />
            </button>
            <button type="button" class="small" onClick={keep}>
              Save call <Key of="s" />
            </button>
          </>
        )}
        {(asked.kind === 'request' || asked.kind === 'notification') && (
          <Menu label="Copy as" name="Copy as" items={asked.kind === 'request' ? copyItems(asked.seq) : copyItems(asked.seq).slice(-1)} />
        )}
        <button type="button" class="small" aria-pressed={marked.value === frame.seq} onClick={() => mark(frame.seq)}>
          Mark <Key of="m" />
        </button>
        {(marked.value > 0 && marked.value !== frame.seq) || comparing ? (
          <button type="button" class="small" aria-pressed={comparing > 0} onClick={compare}>
            Compare with {count(marked.value)} <Key of="c" />
          </button>
        ) : null}
        <button type="button" class="quiet small" aria-label="Close the details" onClick={() => setParams({ at: undefined })}>
          ✕
        </button>
      </header>
      {question}
      {problem.value && <Problem of={problem.value} />}
      {e ? (
        <form
          class="replay-edit"
          onSubmit={(event) => event.preventDefault()}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault()
              event.stopPropagation()
              guarded(e.target, e.method, asked.name, () => void sendEdited())
            }
          }}
        >
          <div class="content-bar">
            <label>
              Method <input class="small mono" value={e.method} onInput={(event) => (editing.value = { ...e, method: event.currentTarget.value })} />
            </label>
            {sources.value.length > 1 && (
              <label>
                Source{' '}
                <select class="small" value={String(e.target)} onChange={(event) => (editing.value = { ...e, target: Number(event.currentTarget.value) })}>
                  {sources.value.map((s) => (
                    <option value={String(s.id)}>{s.name}</option>
                  ))}
                </select>
              </label>
            )}
            <button type="button" class="small primary" onClick={() => guarded(e.target, e.method, asked.name, () => void sendEdited())}>
              Send <Key of="Mod Enter" />
            </button>
            {asked.method === 'tools/call' && e.params.length < 4000 && (
              <a data-in href={addressOf('tools/call', asked.name ?? '', e.params, e.target)}>
                Open in Tools
              </a>
            )}
            <button type="button" class="small" onClick={() => (editing.value = undefined)}>
              Cancel
            </button>
          </div>
          <CodeArea text={e.params} label="params" rows={12} onChange={(text) => (editing.value = { ...e, params: text })} />
        </form>
      ) : comparing ? (
        <Compared a={all.get(comparing) ?? framesBySeq.get(comparing)} b={frame} all={all} />
      ) : (
        <div class="details-body" role="tabpanel" id={panel} aria-labelledby={`${panel}-${tab}`}>
          {tab === 'request' && <Message frame={asked} id="frame-json" />}
          {tab === 'response' && <Message frame={answer} id="frame-json" />}
          {tab === 'headers' && <Headers heads={heads} />}
          {tab === 'bytes' && <Bytes frame={frame} />}
          {tab === 'timing' && <Timing frame={asked} answer={answer} heads={heads} />}
        </div>
      )}
    </section>
  )

  async function sendEdited(): Promise<void> {
    if (!e) return
    try {
      json.parse(e.params)
    } catch (error) {
      problem.value = { text: `The params are not JSON: ${failureOf(error).text}` }
      return
    }
    await send(e.target, e.method, e.params)
  }
}
