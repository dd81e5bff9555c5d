// Tools: the list, a form drawn from the schema, and the result, all at once.
import { signal, useComputed } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { failureOf, get, loadBody } from '../api'
import { bytes, count } from '../format'
import * as json from '../json'
import { address, go, param, place, setParams } from '../route'
import { Session, sessionOf } from '../session'
import { catalogs, say, shown, source, sources } from '../store'
import type { Catalog, Frame, Tool } from '../types'
import { Editor, CodeArea } from '../ui/editor'
import { Entries, type Item, Nothing } from '../ui/entries'
import { initial } from '../ui/form'
import { Badge, Menu, Problem, Tabs } from '../ui/kit'
import { JSONTree } from '../ui/tree'
import { Findings, Head, Work } from '../ui/work'

const filter = signal('')

const isAppOnly = (t: Tool): boolean => !!t.visibility?.length && !t.visibility.includes('model')

// isDestructive reports whether a tool says so itself; without a hint, every tool counts as destructive.
const isDestructive = (t: Tool): boolean =>
  !t.readOnly && (t.definition['annotations'] as { destructiveHint?: unknown } | undefined)?.destructiveHint === true

function flagsOf(t: Tool): string {
  return [
    t.readOnly && 'ro:',
    !t.readOnly && t.destructive && 'dest:',
    t.ui?.resourceUri && 'ui:',
    isAppOnly(t) && 'app:',
    t.findings?.length && 'bad:',
    t.formError && 'bad:',
  ].filter(Boolean).join(' ')
}

function Marks({ tool: t }: { tool: Tool }) {
  return (
    <>
      {t.ui?.resourceUri && <Badge tone="accent" title="Has an app">app</Badge>}
      {isAppOnly(t) && <Badge title="Hidden from models: only its app calls it">app only</Badge>}
      {t.readOnly && <Badge tone="ok" title="readOnlyHint">read-only</Badge>}
      {isDestructive(t) && <Badge tone="warn" title="destructiveHint">destructive</Badge>}
      {t.formError && <Badge tone="error" title={t.formError.text}>schema</Badge>}
    </>
  )
}

// itemsOf returns the rows of a catalog; they are made once.
const rowsOf = new WeakMap<Catalog, Item[]>()

function itemsOf(catalog: Catalog): Item[] {
  let items = rowsOf.get(catalog)
  if (!items) {
    items = catalog.tools.map((t) => ({
      src: catalog.src,
      id: t.name,
      name: t.name,
      text: `${t.name} ${t.title ?? ''} ${t.description ?? ''}`.toLowerCase(),
      flags: flagsOf(t),
      tokens: t.tokens,
      badges: <Marks tool={t} />,
    }))
    rowsOf.set(catalog, items)
  }
  return items
}

const here = (src: number): Record<string, string> => (sources.value.length > 1 ? { s: source(src)?.name ?? '' } : {})

/** Tools is the room. */
export function Tools() {
  const items = useComputed(() =>
    shown.value.flatMap((s) => {
      const catalog = catalogs.value.get(s.id)
      return catalog ? itemsOf(catalog) : []
    }),
  )
  const { name } = place.value
  const wanted = param('s')
  const chosen = items.value.find((i) => i.id === name && (!wanted || source(i.src)?.name === wanted))
  const tool = chosen && catalogs.value.get(chosen.src)?.tools.find((t) => t.name === chosen.id)
  // Without an address, the first tool is shown.
  useEffect(() => {
    const first = items.value[0]
    if (!name && first && place.value.room === 't' && isLoaded()) go(address('t', first.id, here(first.src)), true)
  }, [name, items.value])
  return (
    <section class="room panes">
      <Entries
        id="tools"
        kinds={['tools']}
        noun="tool"
        items={items}
        filter={filter}
        placeholder="Filter: words, ro: dest: ui: bad: @source"
        selected={(i) => i === chosen}
        onSelect={(i) => go(address('t', i.id, here(i.src)), place.value.name !== '')}
      />
      {tool ? (
        <ToolWork key={`${chosen.src} ${tool.name}`} src={chosen.src} tool={tool} />
      ) : name && items.value.length ? (
        <div class="work" data-region="work">
          <div class="empty">
            <h2>No tool is called “{name.slice(0, 200)}”</h2>
            <p>The list shows what the servers offer now.</p>
          </div>
        </div>
      ) : (
        <Nothing noun="tool" kind="tools" items={items.value} />
      )}
    </section>
  )
}

// isLoaded reports whether the lists of all connected sources are there.
const isLoaded = (): boolean => shown.peek().every((s) => s.phase !== 'ready' || catalogs.peek().has(s.id))

const maxLink = 4096

// argumentsOf returns the arguments of a call of this run.
async function argumentsOf(call: string): Promise<string | undefined> {
  const { frames } = await get<{ frames: Frame[] }>(`search?limit=1&q=${encodeURIComponent(`call:${Number(call)} method:tools/call kind:request`)}`)
  if (!frames[0]) throw new Error(`The arguments of call ${call} are no longer kept`)
  const given = json.at(json.parse((await loadBody(frames[0].seq, true)).text), ['params', 'arguments'])
  return given && json.print(given)
}

function ToolWork({ src, tool }: { src: number; tool: Tool }) {
  const session = useMemo(
    () =>
      sessionOf(`t ${src} ${tool.name}`, () => {
        const linked = param('a')
        const made = new Session(src, linked ? pretty(linked) : '{}', tool.formError ? undefined : { source: src, tool: tool.name })
        made.fromLink = linked !== ''
        const earlier = param('c')
        if (earlier && !linked) {
          made.fromLink = true
          argumentsOf(earlier).then((text) => text && made.draft.setText(text), (error) => say(failureOf(error).text))
        }
        return made
      }),
    [src, tool.name],
  )
  const { draft } = session
  const view = param('v') || 'form'
  // The address follows the arguments, so that it can be shared.
  useEffect(() => {
    const timer = setTimeout(() => {
      const text = draft.oneLine()
      const fits = text.length <= maxLink
      // Longer arguments are in History: the link names the last call.
      const { id } = session.shown.peek()
      setParams({ a: text === '{}' || !fits ? undefined : text, c: fits || id === undefined ? undefined : String(id) })
    }, 250)
    return () => clearTimeout(timer)
  }, [draft.text.value, session.shown.value, tool.name])

  const fill = (how: 'defaults' | 'all' | 'clear') => {
    if (!tool.form || how === 'clear') return draft.setText('{}')
    if (how === 'all') return draft.set({ t: 'object', members: (tool.form.children ?? []).map((c) => [c.key!, initial(c)]) })
    let value = draft.value.peek()
    for (const child of tool.form.children ?? []) {
      if (child.default === undefined || json.at(value, [child.key!]) !== undefined) continue
      value = json.set(value, [child.key!], json.from(child.default), tool.form.children!.map((c) => c.key!))
    }
    if (value) draft.set(value)
  }
  const tabs = [
    { id: 'form', label: 'Form', hidden: !tool.form },
    { id: 'json', label: 'JSON' },
    { id: 'meta', label: session.meta.value ? '_meta •' : '_meta' },
    { id: 'definition', label: 'Definition' },
    { id: 'findings', label: `Findings ${tool.findings?.length ?? 0}`, hidden: !tool.findings?.length },
  ]
  const shownTab = tabs.some((t) => t.id === view && !t.hidden) ? view : tool.form ? 'form' : 'json'
  const panel = 'arguments-panel'
  return (
    <Work
      head={
        <Head
          name={tool.name}
          title={tool.title}
          description={tool.description}
          badges={
            <>
              <Marks tool={tool} />
              {!tool.readOnly && tool.destructive && !isDestructive(tool) && (
                <Badge title="No hint says that the tool only reads or adds, so it may change or delete something">no hints</Badge>
              )}
              {tool.idempotent && <Badge title="idempotentHint">idempotent</Badge>}
              {tool.openWorld && <Badge title="openWorldHint, or no hint">open world</Badge>}
              <span class="figure muted" title="The definition, as it is sent to every model">
                {bytes(tool.bytes)} · ≈ {count(tool.tokens)} tokens
              </span>
              {tool.ui?.resourceUri && (
                <a data-in href={address('a', tool.name, here(src))}>
                  Open its app
                </a>
              )}
            </>
          }
        />
      }
      action={{
        session,
        method: 'tools/call',
        verb: 'Call',
        name: tool.name,
        canSendAnyway: true,
        unchecked: !!tool.formError,
        params: () =>
          draft.broken.peek()
            ? { problem: 'The arguments are not JSON yet' }
            : { text: `{"name":${JSON.stringify(tool.name)},"arguments":${draft.oneLine()}}` },
        extra: tool.form?.children?.length ? (
          <Menu
            label="Fill"
            name="Fill the form"
            up
            items={[
              { label: 'Defaults', run: () => fill('defaults') },
              { label: 'Every field', run: () => fill('all') },
              { label: 'Clear', run: () => fill('clear') },
            ]}
          />
        ) : undefined,
      }}
    >
      {tool.formError && (
        <Problem of={{ ...tool.formError, text: `The input schema is not valid: ${tool.formError.text}` }}>
          {tool.formError.pointer && <code>{tool.formError.pointer}</code>}
        </Problem>
      )}
      <Tabs label="Arguments" panel={panel} tabs={tabs} value={shownTab} onChange={(v) => setParams({ v: v === 'form' ? undefined : v })} />
      <div class="call-panel" role="tabpanel" id={panel} aria-labelledby={`${panel}-${shownTab}`}>
        {(shownTab === 'form' || shownTab === 'json') && (
          <Editor
            draft={draft}
            form={tool.form}
            view={shownTab}
            label={`Arguments of ${tool.name}`}
            refs={`source=${src}&tool=${encodeURIComponent(tool.name)}`}
            attempted={session.attempted}
          />
        )}
        {shownTab === 'meta' && (
          <>
            <p class="muted small-text">Sent as _meta of the request. Leave it empty to send none.</p>
            <CodeArea text={session.meta.value} onChange={(t) => (session.meta.value = t)} label="_meta of the request" rows={4} />
          </>
        )}
        {shownTab === 'definition' && <Definition of={tool.definition} id="definition" />}
        {shownTab === 'findings' && <Findings of={tool.findings ?? []} />}
      </div>
    </Work>
  )
}

/** Definition shows the JSON of what a server offers. */
export function Definition({ of, id }: { of: unknown; id: string }) {
  const root = useMemo(() => json.rootOf(JSON.stringify(of)), [of])
  return (
    <div class="definition">
      <JSONTree root={root} label="Definition" id={id} depth={4} />
    </div>
  )
}

function pretty(text: string): string {
  try {
    return json.print(json.parse(text))
  } catch {
    return text
  }
}
