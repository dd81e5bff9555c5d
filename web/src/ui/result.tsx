// The result of a call: what a person wants to see, the structure, and the bytes.
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks'
import { type Body, download, failureOf, loadBody, post, request, saveAs } from '../api'
import { bytes, clock, count, duration, plural, tokens } from '../format'
import { childrenOf, follow, type Node, rootOf, stringOf, textOf } from '../json'
import { address, param, setParams } from '../route'
import { calls, callsVersion, cancel, catalogs, logCounts, logs, logsVersion, progress, say } from '../store'
import type { Call, Failure, Problem as Finding } from '../types'
import { now } from './clock'
import { Log } from './log'
import { CopyButton, copy, Key, layout, Menu, Problem, setLayout, Tabs } from './kit'
import { canOpen, Link, looksLikeMarkdown, Markdown, maxMarkdown } from './markdown'
import { TextView } from './text'
import { JSONTree } from './tree'

interface Item {
  type: string
  node: Node
  text?: string
  cut?: boolean
}

const part = (node: Node | undefined, name: string): string => {
  const child = follow(node, name)
  return child?.kind === 'string' ? stringOf(child) : ''
}

// contents returns the items of content, messages or contents in a result.
function contents(result: Node | undefined): Item[] {
  const list = follow(result, 'content') ?? follow(result, 'contents')
  if (!list || list.kind !== 'array') return []
  return childrenOf(list, 500).list.map((node) => {
    const inner = follow(node, 'resource') ?? node
    const text = follow(inner, 'text')
    const type = part(node, 'type') || (text ? 'text' : 'blob')
    const item: Item = { type, node }
    if (text?.kind === 'string') {
      item.text = stringOf(text)
      if (text.cut) item.cut = true
    }
    return item
  })
}

const imageType = /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/
const audioType = /^audio\/[\w.+-]+$/
const base64 = /^[A-Za-z0-9+/=\s]*$/

/** Media shows an image or a sound that came in the message, and nothing from elsewhere. */
function Media({ mime, data, what }: { mime: string; data: string; what: string }) {
  if (imageType.test(mime)) return <img class="media" src={`data:${mime};base64,${data}`} alt={`${what}, ${mime}`} />
  if (audioType.test(mime)) return <audio class="media" controls src={`data:${mime};base64,${data}`} aria-label={what} />
  return null
}

// sizeOf returns how many bytes base64 text encodes.
const sizeOf = (data: string): number => Math.floor((data.replace(/[\s=]/g, '').length * 3) / 4)

// saveData downloads what base64 text encodes.
function saveData(data: string, mime: string, uri: string): void {
  const binary = Uint8Array.from(atob(data.replace(/\s/g, '')), (c) => c.charCodeAt(0))
  const kind = /^\w+\/([\w-]{1,12})/.exec(mime)?.[1] ?? 'bin'
  const name = uri.split('/').pop()?.replace(/[^\w.-]/g, '') || 'content'
  saveAs(name.includes('.') ? name : `${name}.${kind}`, new Blob([binary]))
}

// Annotations are for whom a server means its content, and how important it is.
function Annotations({ node }: { node: Node }) {
  const list = follow(node, 'annotations')
  if (list?.kind !== 'object') return null
  return (
    <>
      {childrenOf(list, 8).list.map((a) => (
        <span class="badge" title="annotations">
          {String(a.key)} {textOf(a).replace(/["[\]]/g, '').slice(0, 60)}
        </span>
      ))}
    </>
  )
}

// ContentLink is a resource_link: the server reads it, and a web address can be opened as well.
function ContentLink({ node }: { node: Node }) {
  const uri = part(node, 'uri')
  const size = follow(node, 'size')
  return (
    <div class="content-link">
      <span class="badge">link</span>
      <a data-in href={address('r', uri)}>{part(node, 'title') || part(node, 'name') || uri}</a>
      <code>{uri.slice(0, 300)}</code>
      <span class="muted small-text">
        {[part(node, 'mimeType'), size?.kind === 'number' ? bytes(Number(textOf(size))) : ''].filter(Boolean).join(', ')}
      </span>
      <Annotations node={node} />
      {canOpen(uri) && <Link url={uri}>Open</Link>}
      {part(node, 'description') && <p class="muted">{part(node, 'description')}</p>}
    </div>
  )
}

// jsonOf returns a text as a JSON value, if it is an object or an array.
function jsonOf(text: string | undefined): Node | undefined {
  if (!text || text.length > 1 << 20 || !/^\s*[[{]/.test(text)) return undefined
  try {
    JSON.parse(text)
    return rootOf(text)
  } catch {
    return undefined
  }
}

export function Content({ item, index, several }: { item: Item; index: number; several?: boolean }) {
  const { node } = item
  const inner = follow(node, 'resource') ?? node
  const mime = part(inner, 'mimeType')
  const uri = part(inner, 'uri')
  const plain = useSignal(false)
  const value = useMemo(() => jsonOf(item.text), [item.text])
  if (item.type === 'resource_link') return <ContentLink node={node} />
  const blob = part(inner, 'blob') || part(node, 'data')
  const isData = item.text === undefined && blob !== ''
  const isBinary = isData && base64.test(blob)
  const size = isBinary ? sizeOf(blob) : node.to - node.from
  const bar = (rich: boolean) =>
    (uri || rich || several || isData || follow(node, 'annotations')) && (
      <div class={rich && !uri && !several && !follow(node, 'annotations') ? 'content-bar corner' : 'content-bar'}>
        {several && <span class="badge">{item.type}</span>}
        {uri && <code>{uri.slice(0, 300)}</code>}
        {mime && <span class="muted">{mime}</span>}
        {(several || isData) && (
          <span class="muted figure" title="Tokens are estimated: four bytes each, and base64 is not decoded">
            {bytes(size)} · {tokens(Math.ceil((node.to - node.from) / 4))}
          </span>
        )}
        <Annotations node={node} />
        {isData && !isBinary && <span class="error-text">✗ not base64</span>}
        <span class="spacer" />
        {isBinary && (
          <button type="button" class="quiet small" onClick={() => saveData(blob, mime, uri)}>
            Save {mime ? mime.split('/')[0] : 'data'}
          </button>
        )}
        {rich && (
          <button type="button" class="quiet small" aria-pressed={plain.value} onClick={() => (plain.value = !plain.value)}>
            {plain.value ? 'Show formatted' : 'Show source'}
          </button>
        )}
      </div>
    )
  if (isData) {
    return (
      <div class="content-text">
        {bar(false)}
        {isBinary && <Media mime={mime} data={blob} what={uri || `Content ${index + 1}`} />}
      </div>
    )
  }
  if (item.text === undefined) return <JSONTree root={node} label={`Content ${index + 1}`} id={`content-${index}`} />
  const rich = value !== undefined || (item.text.length <= maxMarkdown && (mime === 'text/markdown' || looksLikeMarkdown(item.text)))
  return (
    <div class="content-text">
      {bar(rich)}
      {value && !plain.value ? (
        <JSONTree root={value} label={`JSON in text ${index + 1}`} id={`text-${index}`} depth={3} />
      ) : rich && !plain.value ? (
        <Markdown text={item.text} />
      ) : (
        <TextView text={item.text} label={`Text ${index + 1}`} wrap={layout.value['wrap'] !== 'no'} />
      )}
    </div>
  )
}

const outputOf = (call: Call) => catalogs.value.get(call.src)?.tools.find((t) => t.name === call.name)?.output

// useOutputCheck verifies structuredContent against the tool's output schema, in Go.
function useOutputCheck(node: Node | undefined, call: Call | undefined) {
  const problems = useSignal<Finding[] | undefined>(undefined)
  useEffect(() => {
    problems.value = undefined
    if (!node || !call || node.cut || call.method !== 'tools/call' || node.to - node.from > 2 << 20) return undefined
    if (!outputOf(call)) return undefined
    const abort = new AbortController()
    post<{ problems: Finding[] | null }>('check', { source: call.src, output: call.name, text: textOf(node) }, abort.signal).then(
      (a) => (problems.value = a.problems ?? []),
      () => undefined,
    )
    return () => abort.abort()
  }, [node?.text])
  return problems.value
}

/** Structured shows structuredContent, as a table if it is a list of objects. */
function Structured({ node, problems }: { node: Node; problems: Finding[] | undefined }) {
  const asTable = useSignal(false)
  const rows = useMemo(() => tableOf(node), [node.text])
  return (
    <>
      <div class="content-bar">
        {problems && !problems.length && <span class="ok-text">✓ matches the output schema</span>}
        {problems?.length ? <span class="error-text">✗ {plural(problems.length, 'problem')} with the output schema</span> : null}
        {rows && (
          <button type="button" class="quiet small" aria-pressed={asTable.value} onClick={() => (asTable.value = !asTable.value)}>
            {asTable.value ? 'Show as tree' : 'Show as table'}
          </button>
        )}
        {rows && asTable.value && <CopyButton quiet label="Copy as CSV" text={() => rows.map((r) => r.map(csv).join(',')).join('\n')} />}
      </div>
      {problems?.slice(0, 10).map((p) => (
        <div class="field-problem">
          <code>{p.pointer || '/'}</code> {p.text}
        </div>
      ))}
      {rows && asTable.value ? <Grid rows={rows} /> : <JSONTree root={node} label="Structured content" id="structured" depth={3} />}
    </>
  )
}

const csv = (cell: string): string => (/[",\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell)

// tableOf returns the cells of an array of objects, or of the only member that is one.
function tableOf(node: Node): string[][] | undefined {
  let list: Node | undefined = node
  if (node.kind === 'object') {
    const arrays = childrenOf(node, 20).list.filter((n) => n.kind === 'array')
    list = arrays.length === 1 ? arrays[0] : undefined
  }
  if (list?.kind !== 'array') return undefined
  const items = childrenOf(list, 200).list
  if (items.length < 2 || items.some((n) => n.kind !== 'object')) return undefined
  const names = [...new Set(items.flatMap((n) => childrenOf(n, 20).list.map((c) => String(c.key))))].slice(0, 20)
  const cell = (n: Node | undefined) => (n === undefined ? '' : n.kind === 'string' ? stringOf(n).slice(0, 500) : textOf(n).slice(0, 200))
  return [names, ...items.map((n) => names.map((name) => cell(follow(n, name))))]
}

function Grid({ rows }: { rows: string[][] }) {
  const sort = useSignal<[number, number]>([-1, 1])
  const [column, direction] = sort.value
  const body = rows.slice(1)
  if (column >= 0) body.sort((a, b) => direction * a[column]!.localeCompare(b[column]!, 'en', { numeric: true }))
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {rows[0]!.map((name, i) => (
              <th aria-sort={i === column ? (direction > 0 ? 'ascending' : 'descending') : 'none'}>
                <button type="button" class="quiet small" onClick={() => (sort.value = [i, i === column ? -direction : 1])}>
                  {name}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Messages({ result }: { result: Node }) {
  const list = follow(result, 'messages')
  if (!list) return null
  return (
    <div class="messages">
      {childrenOf(list, 200).list.map((message, i) => {
        const content = follow(message, 'content')
        const text = follow(content, 'text')
        const item: Item = { type: part(content, 'type') || 'text', node: content ?? message }
        const inner = text ?? follow(content, 'resource', 'text')
        if (inner?.kind === 'string') item.text = stringOf(inner)
        return (
          <article class="message">
            <h3 class={`role ${part(message, 'role')}`}>{part(message, 'role')}</h3>
            <Content item={item} index={i} />
          </article>
        )
      })}
    </div>
  )
}

/** copyItems returns the actions of a copy menu for a request. */
export function copyItems(request: number): { label: string; run: () => void }[] {
  const as = (kind: string, label: string) => ({
    label,
    run: () => {
      void fetchCopy(request, kind).then(
        (text) => copy(text, `${label} copied`),
        (error) => say(failureOf(error).text),
      )
    },
  })
  return [as('curl', 'curl'), as('slipway', 'slipway call'), as('gotest', 'Go test'), as('frame', 'JSON-RPC frame')]
}

/** copyMenu opens the copy menu of the result. */
export function copyMenu(): boolean {
  const button = document.querySelector<HTMLElement>('.result-pane [data-menu="Copy as"]')
  button?.click()
  return !!button
}

async function fetchCopy(seq: number, as: string): Promise<string> {
  const response = await request(`frames/${seq}/copy?as=${as}`)
  return ((await response.json()) as { text: string }).text
}

/** Running shows a call that has not ended: time, progress, log lines and a way to stop it. */
export function Running({ call }: { call: Call }) {
  callsVersion.value
  logsVersion.value
  const p = progress.get(call.id) ?? call.progress
  const done = p?.total ? Math.min(1, (p.progress ?? 0) / p.total) : undefined
  return (
    <div class="running" role="group" aria-label="Running call">
      <span class="spinner" aria-hidden="true" />
      <span class="clock">{clock(now.value - call.started / 1e6)}</span>
      {p && (
        <>
          <progress max={1} value={done} aria-label="Progress" />
          <span>
            {count(p.progress ?? 0)}
            {p.total ? ` / ${count(p.total)}` : ''} {p.message?.slice(0, 120)}
          </span>
        </>
      )}
      {logCounts.get(call.id) ? <span class="muted">{plural(logCounts.get(call.id)!, 'log line')}</span> : null}
      <button type="button" class="small" data-cancel onClick={() => void cancel(call.id).catch(() => undefined)}>
        Cancel <Key of="Esc" />
      </button>
    </div>
  )
}

export const stateText = { running: 'running', done: 'ok', failed: 'failed', cancelled: 'cancelled', timeout: 'timed out' }

/** Result shows the answer of a call. before is what it replaces until it is there. */
export function Result({ id, before, id2 = 'result', verb = 'Call' }: { id: number | undefined; before?: number | undefined; id2?: string; verb?: string }) {
  callsVersion.value
  const call = id === undefined ? undefined : calls.get(id)
  const isRunning = call?.state === 'running'
  const shownCall = isRunning && before !== undefined ? calls.get(before) : call
  const body = useSignal<(Body & { of: number }) | undefined>(undefined)
  const problem = useSignal<Failure | undefined>(undefined)
  const answer = shownCall?.answer
  // What is shown is that of an earlier answer until the body of this one is here.
  const isEarlier = isRunning || (!!body.value && body.value.of !== answer)
  useLayoutEffect(() => { // not after the next frame is drawn, which would be a frame later
    problem.value = undefined
    if (!answer) {
      body.value = undefined
      return undefined
    }
    const abort = new AbortController()
    loadBody(answer, false, abort.signal).then(
      (b) => (body.value = { ...b, of: answer }),
      (error) => {
        if (abort.signal.aborted) return
        body.value = undefined
        problem.value = failureOf(error)
      },
    )
    return () => abort.abort()
  }, [answer])
  const parsed = useMemo(() => {
    const text = body.value?.text
    if (text === undefined) return undefined
    const root = rootOf(text)
    const result = follow(root, 'result')
    return { root, result, items: contents(result), structured: follow(result, 'structuredContent'), hasMessages: !!follow(result, 'messages') }
  }, [body.value])

  const output = useOutputCheck(parsed?.structured, shownCall)

  if (!call) {
    return (
      <div class="nothing">
        <p>
          The result appears here. <Key of="Mod" /> <Key of="Enter" /> {verb.toLowerCase()}s from any field.
        </p>
      </div>
    )
  }
  const loadAll = () => {
    if (answer) loadBody(answer, true).then((b) => (body.value = { ...b, of: answer }), (e) => (problem.value = failureOf(e)))
  }
  const lines = logs.get(call.id) ?? []
  const lacksOutput =
    !!parsed?.result && !parsed.structured && !!body.value?.whole && shownCall?.method === 'tools/call' && shownCall.state === 'done' &&
    !shownCall.isError && !!outputOf(shownCall)
  const wrong = ['content', 'contents', 'messages'].find((name) => (follow(parsed?.result, name)?.kind ?? 'array') !== 'array')
  const note = wrong
    ? `The result breaks the protocol: ${wrong} must be an array.`
    : lacksOutput && 'The tool declares an output schema, but its result has no structuredContent.'
  const mark = output && (
    <span class={output.length ? 'error-text' : 'ok-text'} title={output.length ? 'Does not match the output schema' : 'Matches the output schema'}>
      {output.length ? ' ✗' : ' ✓'} schema
    </span>
  )
  const hasText = (parsed?.items.length ?? 0) > 0 || parsed?.hasMessages
  const tabs = [
    { id: 'text', label: parsed?.hasMessages ? 'Messages' : 'Content', hidden: !hasText },
    { id: 'structured', label: <>Structured{mark}</>, hidden: !parsed?.structured },
    { id: 'raw', label: 'JSON' },
    { id: 'bytes', label: 'Bytes' },
    { id: 'log', label: `Log ${count(logCounts.get(call.id) ?? 0)}`, hidden: !logCounts.get(call.id) },
  ]
  const available = tabs.filter((t) => !t.hidden)
  const wanted = param('tab')
  const tab = available.some((t) => t.id === wanted) ? wanted : available[0]!.id
  const tone = isRunning ? '' : call.state === 'done' && !call.isError ? 'ok' : 'error'
  const panel = `${id2}-panel`
  return (
    <section class={`result ${tone}`} aria-label="Result">
      <header class="result-bar">
        <h3>Result</h3>
        {isRunning ? (
          <Running call={call} />
        ) : (
          <>
            <span class={`pill ${tone}`}>
              {tone === 'ok' ? '✓' : '✗'} {call.isError && call.state === 'done' ? 'tool error' : stateText[call.state]}
            </span>
            <span class="figure">{duration(call.took)}</span>
            {call.bytes !== undefined && <span class="figure">{bytes(call.bytes)}</span>}
            {call.tokens ? <span class="figure muted">{tokens(call.tokens)}</span> : null}
            {call.answer && (
              <a data-in class="figure" href={address('f', '', { at: String(call.request ?? call.answer) })}>
                #{call.answer}
              </a>
            )}
          </>
        )}
        <span class="spacer" />
        {call.request && <Menu label="Copy as" name="Copy as" items={copyItems(call.request)} />}
        {answer && (
          <button type="button" class="small" onClick={() => void download(`frames/${answer}`, `result-${answer}.json`).catch((e) => (problem.value = failureOf(e)))}>
            Save
          </button>
        )}
      </header>
      {call.error && <Problem of={call.error} />}
      {problem.value && <Problem of={problem.value} />}
      {parsed && (
        <>
          <div class="result-tabs">
            <Tabs label="Views of the result" panel={panel} tabs={tabs} value={tab} onChange={(t) => setParams({ tab: t === available[0]!.id ? undefined : t })} />
            <span class="spacer" />
            {(tab === 'text' || tab === 'bytes') && (
              <button type="button" class="quiet small" aria-pressed={layout.value['wrap'] !== 'no'} onClick={toggleWrap}>
                Wrap
              </button>
            )}
          </div>
          {body.value && !body.value.whole && (
            <div class="partial" role="note">
              The first {bytes(body.value.text.length)} of {bytes(body.value.total)}.{' '}
              <button type="button" class="link" onClick={loadAll}>
                Show all
              </button>
            </div>
          )}
          {note && (
            <div class="partial" role="note">
              {note}
            </div>
          )}
          <div class={isEarlier ? 'result-body dimmed' : 'result-body'} aria-busy={isEarlier} role="tabpanel" id={panel} aria-labelledby={`${panel}-${tab}`}>
            {tab === 'text' && parsed.hasMessages && parsed.result && <Messages result={parsed.result} />}
            {tab === 'text' && parsed.items.map((item, i) => <Content key={i} item={item} index={i} several={parsed.items.length > 1} />)}
            {tab === 'structured' && parsed.structured && <Structured node={parsed.structured} problems={output} />}
            {tab === 'raw' && <JSONTree root={parsed.root} label="Response" id={`${id2}-json`} depth={3} />}
            {tab === 'bytes' && <TextView text={body.value!.text} label="Bytes" wrap={layout.value['wrap'] !== 'no'} />}
            {tab === 'log' && <Log lines={lines} total={logCounts.get(call.id) ?? 0} />}
          </div>
        </>
      )}
    </section>
  )
}

export function toggleWrap(): void {
  setLayout('wrap', layout.value['wrap'] === 'no' ? 'yes' : 'no')
}

