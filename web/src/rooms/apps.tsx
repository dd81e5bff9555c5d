// Apps: the user interfaces of tools, drawn by a host like that of a chat, with everything that crosses
// its border beside it.
import { signal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { AppHost, styleVariables, partialInputs, type AccessibilityFinding, type Controls, type DisplayMode, type HostContext, type Params, type Phase, type Traffic, type View, type Violation as Blocked } from '../../../apps/host.js'
import { boot, failureOf, get, loadBody, post, request, saveAs } from '../api'
import { bytes, count, plural } from '../format'
import * as json from '../json'
import { useKeys } from '../keys'
import { address, go, param, place, setParams } from '../route'
import { Session, sessionOf } from '../session'
import { call, catalogs, say, shown, source, sources, violations } from '../store'
import type { Catalog, Failure, Tool } from '../types'
import { linked, useConsent } from '../ui/consent'
import { CodeArea, Editor } from '../ui/editor'
import { Entries, type Item, Nothing } from '../ui/entries'
import { defaultsOf } from '../ui/form'
import { Badge, Key, Problem, Tabs } from '../ui/kit'
import { JSONTree } from '../ui/tree'
import { Head } from '../ui/work'

const filter = signal('')
const rowsOf = new WeakMap<Catalog, Item[]>()

function itemsOf(catalog: Catalog): Item[] {
  let items = rowsOf.get(catalog)
  if (!items) {
    items = catalog.tools
      .filter((t) => t.ui?.resourceUri)
      .map((t) => ({
        src: catalog.src,
        id: t.name,
        name: t.title || t.name,
        text: `${t.name} ${t.title ?? ''} ${t.ui!.resourceUri}`.toLowerCase(),
        flags: '',
        badges: <span class="muted small-text">{t.ui!.resourceUri!.replace(/^ui:\/\//, '')}</span>,
      }))
    rowsOf.set(catalog, items)
  }
  return items
}

const here = (src: number): Record<string, string> => (sources.value.length > 1 ? { s: source(src)?.name ?? '' } : {})

/** Apps is the room. */
export function Apps() {
  const items = useComputed(() =>
    shown.value.flatMap((s) => {
      const catalog = catalogs.value.get(s.id)
      return catalog ? itemsOf(catalog) : []
    }),
  )
  const { name } = place.value
  const wanted = param('s')
  const chosen = items.value.find((i) => i.id === name && (!wanted || source(i.src)?.name === wanted))
  const tool = chosen && catalogs.value.get(chosen.src)?.tools.find((t) => t.name === name)
  useEffect(() => {
    const first = items.value[0]
    if (!name && first && place.value.room === 'a') go(address('a', first.id, here(first.src)), true)
  }, [name, items.value])
  return (
    <section class="room panes">
      <Entries
        id="apps"
        kinds={['tools']}
        noun="app"
        items={items}
        filter={filter}
        placeholder="Filter: words, @source"
        selected={(i) => i === chosen}
        onSelect={(i) => go(address('a', i.id, here(i.src)), place.value.name !== '')}
      />
      {tool ? (
        <AppWork key={`${chosen.src} ${tool.name}`} src={chosen.src} tool={tool} />
      ) : (
        <Nothing noun="app" kind="tools" items={items.value} />
      )}
    </section>
  )
}

const controls = signal<Controls | undefined>(undefined)

// A browser has six connections to an address. Three of them stay free for the page, whatever its apps ask for.
let free = 3
const turns: (() => void)[] = []

// inTurn runs f once a connection is free.
async function inTurn<T>(f: () => Promise<T>): Promise<T> {
  if (turns.length > 99) throw new Error('too many requests wait')
  if (free) free--
  else await new Promise<void>((resolve) => turns.push(resolve))
  try {
    return await f()
  } finally {
    const next = turns.shift()
    if (next) next()
    else free++
  }
}

// Running is an app that is open.
class Running {
  readonly phase = signal<Phase>('loading')
  readonly traffic: Traffic[] = []
  readonly version = signal(0)
  readonly mode = signal<DisplayMode>('inline')
  readonly size = signal<{ width?: number; height?: number }>({})
  readonly model = signal<unknown>(undefined)
  readonly said = signal<unknown[]>([])
  readonly links = signal<string[]>([])
  readonly files = signal<(Params & { fileName: string })[]>([])
  readonly tools = signal<unknown[] | undefined>(undefined)
  readonly barriers = signal<AccessibilityFinding[] | 'running' | undefined>(undefined)
  readonly error = signal<Failure | undefined>(undefined)
  private readonly closing = new AbortController()
  host?: AppHost

  /** isBeside says that it is the second of two, which does not change the controls. */
  constructor(
    readonly view: View,
    readonly isBeside = false,
  ) {}

  // start shows the app in a frame.
  start(frame: HTMLIFrameElement, context: HostContext): void {
    const host = new AppHost({
      frame,
      view: this.view,
      context,
      hostInfo: { name: 'slipway inspect', version: boot.by?.replace('slipway ', '') ?? '' },
      request: async (method, params) => {
        const answer = await inTurn(() =>
          post<{ result?: unknown; error?: { code: number; message: string; data?: unknown } }>(`app/${this.view.id}`, { method, params }, this.closing.signal),
        )
        if (answer.error) throw answer.error
        return answer.result
      },
    })
    this.host = host
    host.onphase = (phase) => {
      this.phase.value = phase
      if (phase !== 'ready') return
      say('The app is ready')
      this.mode.value = host.context.displayMode ?? 'inline'
    }
    host.ontraffic = (t) => {
      this.traffic.push(t)
      if (this.traffic.length > 2000) this.traffic.splice(0, 500)
      this.version.value++
    }
    host.onerror = (error) =>
      (this.error.value = {
        text: error.message,
        hint: /did not load/.test(error.message) ? `Requests to *.localhost must reach this page: use a browser on the same machine, or a tunnel to port ${location.port || 80}. A program that mounts the page must pass them on (Inspector.Owns).` : undefined,
      })
    host.onopenlink = ({ url }) => {
      if (!/^https?:\/\//.test(url)) return false
      this.links.value = [...this.links.value, url].slice(-20)
      return undefined
    }
    host.ondownload = ({ contents }) => {
      // A link would be a request to another host: it is refused.
      const given = contents.filter((c) => c.type === 'resource')
      this.files.value = [...this.files.value, ...given].slice(-20)
      return given.length === contents.length
    }
    host.onmessage = (message) => {
      this.said.value = [...this.said.value, message].slice(-50)
      return undefined
    }
    host.onmodelcontext = (context) => {
      this.model.value = context
      return undefined
    }
    host.ondisplaymode = (mode) => {
      this.mode.value = mode
      if (!this.isBeside) setParams({ mode }) // the control shows what the app chose
      return mode
    }
    host.onsizechanged = (size) => (this.size.value = size)
    host.onrequestteardown = () => void this.stop()
    host.ontoolschanged = () => void this.list()
  }

  /** adopt sends the app what changed in the context. A display mode that the app did not declare is refused, and reported. */
  adopt({ displayMode, ...rest }: HostContext): void {
    this.host!.setContext(rest)
    try {
      this.host!.setContext({ displayMode })
      this.mode.value = displayMode ?? 'inline'
      this.error.value = undefined
    } catch (error) {
      this.error.value = failureOf(error)
    }
  }

  async list(): Promise<void> {
    try {
      this.tools.value = (await this.host!.listTools()).tools
    } catch (error) {
      this.error.value = failureOf(error)
    }
  }

  async check(): Promise<void> {
    this.barriers.value = 'running'
    try {
      this.barriers.value = await this.host!.checkAccessibility()
    } catch (error) {
      this.barriers.value = undefined
      this.error.value = failureOf(error)
    }
  }

  /** stop lets the app say goodbye, and closes it. */
  async stop(): Promise<void> {
    try {
      if (this.host?.phase === 'ready') await this.host.teardown('the view is closed', 1500)
    } catch {
      // it did not answer; it is closed all the same
    }
    this.host?.close()
    this.closing.abort()
    this.phase.value = 'closed'
    await request(`app/${this.view.id}`, { method: 'DELETE' }).catch(() => undefined)
  }
}

const phases: Record<Phase, string> = {
  loading: 'loading the frame',
  proxy: 'loading the document',
  initializing: 'waiting for ui/notifications/initialized',
  ready: 'ready',
  closed: 'closed',
  failed: 'failed',
}

function AppWork({ src, tool }: { src: number; tool: Tool }) {
  // The input is that of the tool in its room.
  const session = useMemo(
    () => sessionOf(`t ${src} ${tool.name}`, () => {
      const made = new Session(src, param('i') || '{}', { source: src, tool: tool.name })
      made.fromLink = param('i') !== ''
      return made
    }),
    [src, tool.name],
  )
  const { draft } = session
  const result = useSignal('')
  const opened = useSignal<Running | undefined>(undefined)
  const second = useSignal<Running | undefined>(undefined)
  const sent = useRef<Sent>({})
  const leaving = useRef<Promise<unknown> | undefined>(undefined) // the second view, which says goodbye
  const failure = useSignal<Failure | undefined>(undefined)
  const busy = useSignal(false)
  const step = useSignal(0)
  const [ask, question] = useConsent('Call', true)
  const set = controls.value
  const strict = param('host') !== 'compatible'
  const theme = (param('theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) as 'light' | 'dark'
  const locale = param('locale') || 'en-US'
  const device = set?.devices.find((d) => d.name === param('device')) ?? set?.devices[0]
  const app = opened.value
  const beside = set?.devices.find((d) => d.name === param('beside'))
  const lastBeside = useRef(beside)
  if (beside) lastBeside.current = beside
  const besideTheme = (param('theme2') || theme) as 'light' | 'dark'
  const views = [app, second.value].filter((r) => r !== undefined)
  // What is set by hand goes before what the device has.
  const width = sizeOf('w', device?.width ?? 720)
  const height = sizeOf('ht', device?.height ?? 480)
  const insets = insetsOf(param('safe'), device?.safeAreaInsets)
  const touch = flagOf('touch', device?.deviceCapabilities.touch)
  const hover = flagOf('hover', device?.deviceCapabilities.hover)

  useEffect(() => {
    if (!controls.peek()) void get<Controls>('app/controls').then((c) => (controls.value = c), (error) => (failure.value = failureOf(error)))
    // Apps draw from the arguments that they get, so the input begins with the defaults, as in the
    // official basic-host.
    if (!param('i') && draft.oneLine() === '{}') draft.set(defaultsOf(tool.form))
    return () => void close()
  }, [])

  const common = (look: 'light' | 'dark'): HostContext => ({
    toolInfo: { tool: tool.definition },
    theme: look,
    locale,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    styles: { variables: styleVariables(set!, look) },
    displayMode: (param('mode') || 'inline') as DisplayMode,
    availableDisplayModes: set!.displayModes,
  })
  const context = useMemo((): HostContext => {
    if (!set || !device) return {}
    return {
      ...common(theme),
      containerDimensions: { width, maxHeight: height },
      platform: device.platform,
      deviceCapabilities: { touch, hover },
      safeAreaInsets: insets,
    }
  }, [set, device, theme, locale, param('mode'), width, height, touch, hover, param('safe')])
  const besideContext = useMemo((): HostContext => {
    if (!beside) return {}
    const { width, height, platform, deviceCapabilities, safeAreaInsets } = beside
    return { ...common(besideTheme), containerDimensions: { width, maxHeight: height }, platform, deviceCapabilities, safeAreaInsets: insetsOf('', safeAreaInsets) }
  }, [beside, besideTheme, locale, param('mode')])
  // A change of the controls reaches the open app, as in a chat.
  useEffect(() => {
    if (app?.host) app.adopt(context)
  }, [context])
  useEffect(() => {
    if (beside && second.peek()?.host) second.peek()!.adopt(besideContext)
  }, [besideContext])
  // The second view comes and goes beside an open one, and gets what that was sent. Nothing is called.
  useEffect(() => {
    if (!beside) {
      leaving.current = second.peek()?.stop().then(() => (second.value = undefined))
      return
    }
    const add = async () => {
      await leaving.current
      if (!isOpen(opened.peek()) || isOpen(second.peek())) return
      give(await frameOf(await drawBeside()), sent.current)
    }
    void add().catch((error) => (failure.value = failureOf(error)))
  }, [!beside])

  const view = (): Promise<View> => post('app', { source: src, tool: tool.name, mode: strict ? 'strict' : 'compatible' })
  const drawBeside = async (): Promise<Running> => (second.value = new Running(await view(), true))
  const close = async () => {
    await Promise.all([opened.peek()?.stop(), second.peek()?.stop()])
  }
  // draw opens new views: a view gets its input and its result once.
  const draw = async () => {
    await close()
    opened.value = second.value = undefined
    sent.current = {}
    opened.value = new Running(await view())
    if (beside) await drawBeside()
  }
  // tell sends the open views what comes next.
  const tell = async (next: Sent) => {
    Object.assign(sent.current, next)
    for (const host of await Promise.all([opened.peek(), second.peek()].filter(isOpen).map((r) => frameOf(r!)))) give(host, next)
  }
  const callAndOpen = () => ask(linked(session, 'tools/call', tool.name), () => void open(true))
  const open = async (calls: boolean) => {
    if (busy.peek() || !set) return
    failure.value = undefined
    if (draft.broken.peek()) {
      failure.value = { text: 'The input is not JSON yet' }
      return
    }
    busy.value = true
    if (calls) await draft.checkNow()
    const problem = calls ? draft.problems.peek()[0] : undefined
    if (problem) {
      busy.value = false
      session.attempted.value = true
      failure.value = { text: `Not called: ${problem.pointer || 'the input'}: ${problem.text}`, hint: 'Complete the input, or open the app without a call.' }
      setParams({ tab: undefined })
      return
    }
    const args = JSON.parse(draft.oneLine()) as Params
    try {
      if (!calls) return await draw()
      session.fromLink = false
      const params = `{"name":${JSON.stringify(tool.name)},"arguments":${draft.oneLine()}}`
      const [{ ended }] = await Promise.all([call({ source: src, method: 'tools/call', params, timeout: 60 }), draw()])
      await tell({ input: args })
      const done = await ended
      if (done.answer === undefined || done.error) {
        await tell({ cancelled: done.error?.text ?? done.state })
        failure.value = done.error ?? { text: `The call ended: ${done.state}` }
        return
      }
      const body = JSON.parse((await loadBody(done.answer, true)).text) as { result?: unknown }
      result.value = JSON.stringify(body.result, null, 2)
      await tell({ result: body.result })
    } catch (error) {
      failure.value = failureOf(error)
    } finally {
      busy.value = false
    }
  }
  // show opens the app with input and result that the user wrote. Nothing is called.
  const show = async (what: 'input' | 'partial' | 'result') => {
    if (busy.peek()) return
    busy.value = true
    failure.value = undefined
    try {
      const args = JSON.parse(draft.oneLine()) as Params
      const given = what === 'result' ? (JSON.parse(result.value) as unknown) : undefined
      const parts = partialInputs(args, 8)
      const begins = what !== 'partial' || step.value === 0 || !isOpen(opened.peek())
      if (begins) await draw()
      if (what === 'partial' && step.value < parts.length) {
        await tell({ partial: parts[begins ? 0 : step.value] })
        step.value = begins ? 1 : step.value + 1
        return
      }
      step.value = 0
      await tell(what === 'result' ? { input: args, result: given } : { input: args })
    } catch (error) {
      failure.value = { text: `Not sent: ${failureOf(error).text}` }
    } finally {
      busy.value = false
    }
  }
  useKeys({ 'Mod+Enter': callAndOpen, r: callAndOpen })

  const blocked = useComputed(() => violations.value.filter((v) => v.app === opened.value?.view.id || v.app === second.value?.view.id))
  const dropped = app?.view.grant.dropped ?? []
  app?.version.value
  const tab = param('tab') || 'input'
  const panel = 'app-panel'
  const tabs = [
    { id: 'input', label: 'Input' },
    { id: 'result', label: 'Result' },
    { id: 'messages', label: `Messages ${count(app?.traffic.length ?? 0)}` },
    { id: 'violations', label: `Violations ${count(blocked.value.length + dropped.length)}` },
    { id: 'policy', label: 'Policy' },
    { id: 'access', label: Array.isArray(app?.barriers.value) ? `Accessibility ${count(app.barriers.value.length)}` : 'Accessibility' },
    { id: 'tools', label: app?.tools.value ? `App tools ${count(app.tools.value.length)}` : 'App tools' },
    { id: 'model', label: `For the model ${count((app?.said.value.length ?? 0) + (app?.model.value ? 1 : 0))}` },
  ]
  const devices = set?.devices.map((d) => ({ id: d.name, label: `${d.name}, ${d.width} × ${d.height}` })) ?? []
  const choose = (name: string, label: string, value: string, values: { id: string; label?: string }[], without: Record<string, undefined> = {}) => (
    <label class="control">
      {label}{' '}
      <select class="small" value={value} onChange={(e) => setParams({ [name]: (e.currentTarget as HTMLSelectElement).value, ...without })}>
        {values.map((v) => (
          <option key={v.id} value={v.id}>
            {v.label ?? v.id}
          </option>
        ))}
      </select>
    </label>
  )
  return (
    <div class="work app-work" data-region="work">
      <Head
        name={tool.name}
        title={tool.title}
        description={tool.description}
        badges={
          <>
            <code>{tool.ui!.resourceUri}</code>
            {app && <Badge tone={app.phase.value === 'ready' ? 'ok' : app.phase.value === 'failed' ? 'error' : undefined}>{phases[app.phase.value]}</Badge>}
            {app && <span class="muted small-text">{bytes(app.view.bytes)}</span>}
            {app?.host?.usesFallback && <Badge tone="warn" title="*.localhost does not resolve here: the app shares an address with others">fallback address</Badge>}
            <a data-in href={address('t', tool.name, here(src))}>Its tool</a>
          </>
        }
      />
      <div class="app-controls" role="group" aria-label="The host">
        <button type="button" class="primary" disabled={busy.value || !set} onClick={callAndOpen}>
          {app ? 'Call and open again' : 'Call and open'} <Key of="Mod+Enter" />
        </button>
        <button type="button" disabled={busy.value || !set} onClick={() => void open(false)}>
          Open only
        </button>
        {app && app.phase.value !== 'closed' && (
          <button type="button" onClick={() => void close()}>
            Close
          </button>
        )}
        {choose('host', 'Rules', strict ? 'strict' : 'compatible', [{ id: 'strict' }, { id: 'compatible' }])}
        {choose('theme', 'Theme', theme, [{ id: 'light' }, { id: 'dark' }])}
        {set && choose('locale', 'Language', locale, set.locales.map((id) => ({ id })))}
        {set && choose('mode', 'Mode', param('mode') || 'inline', set.displayModes.map((id) => ({ id })))}
        {device && choose('device', 'Device', device.name, devices, { w: undefined, ht: undefined, safe: undefined, touch: undefined, hover: undefined })}
        {set && choose('beside', 'Beside', beside?.name ?? '', [{ id: '', label: 'nothing' }, ...devices])}
        {beside && choose('theme2', 'Theme beside', besideTheme, [{ id: 'light' }, { id: 'dark' }])}
        <Measure label="Width" name="w" value={width} />
        <Measure label="Height" name="ht" value={height} />
        <label class="control" title="Top, right, bottom, left">
          Safe area{' '}
          <Typed class="insets" value={sides.map((side) => insets[side]).join(' ')} onEnd={(safe) => setParams({ safe })} />
        </label>
        <label class="control">
          <input type="checkbox" checked={touch} onChange={() => setParams({ touch: touch ? '0' : '1' })} /> Touch
        </label>
        <label class="control">
          <input type="checkbox" checked={hover} onChange={() => setParams({ hover: hover ? '0' : '1' })} /> Hover
        </label>
      </div>
      {question}
      {failure.value && <Problem of={failure.value} />}
      {views.map((v) => v.error.value && <Problem key={v.view.id} of={v.error.value} />)}
      {views.flatMap((v) => v.links.value).map((url) => (
        <p class="app-link" key={url}>
          The app asks to open <code>{url}</code>{' '}
          <a href={url} target="_blank" rel="noreferrer noopener">
            Open
          </a>
        </p>
      ))}
      {views.flatMap((v) => v.files.value).map((file, i) => (
        <p class="app-link" key={i}>
          The app offers a file: <code>{file.fileName}</code>{' '}
          <button type="button" class="small" onClick={() => saveFile(file)}>
            Save
          </button>
        </p>
      ))}
      <div class="app-stage" tabIndex={0} role="region" aria-label="The app">
        {app && app.phase.value !== 'closed' ? (
          <>
            <Stage key={app.view.id} app={app} context={context} width={width} height={height} />
            {second.value && second.value.phase.value !== 'closed' && <Stage key={second.value.view.id} app={second.value} context={besideContext} width={lastBeside.current!.width} height={lastBeside.current!.height} />}
          </>
        ) : (
          <p class="muted">{app ? 'The app is closed.' : 'The app is not open. Opening it calls the tool once, with the input below.'}</p>
        )}
      </div>
      <Tabs label="Beside the app" panel={panel} tabs={tabs} value={tab} onChange={(id) => setParams({ tab: id === 'input' ? undefined : id })} />
      <div class="call-panel app-panel" role="tabpanel" id={panel} aria-labelledby={`${panel}-${tab}`}>
        {tab === 'input' && (
          <>
            <Editor
              draft={draft}
              form={tool.form}
              view={tool.form ? 'form' : 'json'}
              label={`Input of ${tool.name}`}
              refs={`source=${src}&tool=${encodeURIComponent(tool.name)}`}
              attempted={session.attempted}
            />
            <div class="actions">
              <button type="button" class="small" disabled={busy.value || !set} onClick={() => void show('input')}>Open with this input only</button>
              <button type="button" class="small" disabled={busy.value || !set} onClick={() => void show('partial')}>
                Open with a part of it, step {step.value + 1}
              </button>
            </div>
          </>
        )}
        {tab === 'result' && (
          <>
            <CodeArea text={result.value} onChange={(t) => (result.value = t)} label={`Result of ${tool.name}`} rows={8} />
            <div class="actions">
              <button type="button" class="small" disabled={busy.value || !result.value} onClick={() => void show('result')}>Open with this result</button>
            </div>
          </>
        )}
        {tab === 'messages' && <Messages of={app?.traffic ?? []} version={app?.version.value ?? 0} />}
        {tab === 'violations' && <Violations of={[...dropped, ...blocked.value]} />}
        {tab === 'policy' && (app ? <Tree of={{ 'Content-Security-Policy': app.view.policy, 'Permissions-Policy': app.view.allow, granted: app.view.grant }} id="policy" /> : <NotYet />)}
        {tab === 'access' && <Barriers app={app} />}
        {tab === 'tools' &&
          (app?.tools.value ? (
            <Tree of={app.tools.value} id="app-tools" />
          ) : (
            <p class="pad">
              <button type="button" class="small" disabled={app?.phase.value !== 'ready'} onClick={() => void app?.list()}>List the tools of the app</button>
            </p>
          ))}
        {tab === 'model' && (app ? <Tree of={{ context: app.model.value ?? null, messages: app.said.value }} id="model" /> : <NotYet />)}
      </div>
    </div>
  )
}

const sides = ['top', 'right', 'bottom', 'left'] as const
type Insets = Record<(typeof sides)[number], number>

/** insetsOf reads "47 0 34 0". Anything else means the insets of the device. */
function insetsOf(text: string, device: Insets = { top: 0, right: 0, bottom: 0, left: 0 }): Insets {
  const numbers = text.split(/[ ,]+/).map(Number)
  if (!text || numbers.length !== 4 || numbers.some((n) => !(n >= 0 && n <= 500))) return device
  const [top = 0, right = 0, bottom = 0, left = 0] = numbers
  return { top, right, bottom, left }
}

/** sizeOf is a size from the address, in pixels, or that of the device. */
function sizeOf(name: string, device: number): number {
  const n = Math.round(Number(param(name)))
  return n >= 60 && n <= 4000 ? n : device
}

const flagOf = (name: string, device = false): boolean => (param(name) ? param(name) === '1' : device)

const Measure = ({ label, name, value }: { label: string; name: string; value: number }) => (
  <label class="control">
    {label}{' '}
    <Typed class="measure" isSize value={String(value)} onEnd={(text) => setParams({ [name]: text })} />
  </label>
)

// Typed is a field whose text is used when the user leaves it. What is typed until then outlasts a redraw.
function Typed({ value, onEnd, class: name, isSize }: {
  value: string
  onEnd: (text: string | undefined) => void
  class: string
  isSize?: boolean
}) {
  const typed = useSignal<string | undefined>(undefined)
  return (
    <input
      {...(isSize ? { type: 'number' as const, min: 60, max: 4000 } : { type: 'text' as const })}
      class={`small ${name}`}
      value={typed.value ?? value}
      onInput={(e) => (typed.value = e.currentTarget.value)}
      onChange={(e) => {
        onEnd(e.currentTarget.value.trim() || undefined)
        typed.value = undefined
      }}
      onBlur={() => (typed.value = undefined)}
    />
  )
}

// saveFile writes an embedded resource of an app into a file that the user chooses.
function saveFile(file: Params & { fileName: string }): void {
  const { text, blob } = (file.resource ?? {}) as { text?: string; blob?: string }
  const content = blob === undefined ? (text ?? '') : Uint8Array.from(atob(blob), (c) => c.charCodeAt(0))
  saveAs(file.fileName, new Blob([content]))
}

// What axe-core finds in the document of the app, as it is now.
function Barriers({ app }: { app: Running | undefined }) {
  if (!app) return <NotYet />
  const found = app.barriers.value
  return (
    <div class="pad">
      <p>
        <button type="button" class="small" disabled={app.phase.value !== 'ready' || found === 'running' || !app.view.checks || app.host?.usesFallback} onClick={() => void app.check()}>
          {found === 'running' ? 'Checking' : found ? 'Check again' : 'Check the app'}
        </button>{' '}
        <span class="muted">{app.host?.usesFallback ? 'Not possible at the fallback address.' : 'axe-core, in the app as it is now.'}</span>
      </p>
      {Array.isArray(found) && !found.length && <p>No violations.</p>}
      {Array.isArray(found) && (
        <ul class="app-violations">
          {found.map((f) => (
            <li key={f.rule}>
              <Badge tone={/serious|critical/.test(f.impact) ? 'error' : 'warn'}>{f.impact}</Badge> <b>{f.rule}</b> {f.help}, {plural(f.count, 'element')}
              {f.nodes.map((n, i) => (
                <pre class="snippet" key={i} title={n.target}>
                  {n.html}
                </pre>
              ))}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** Sent is what a view was sent. */
interface Sent {
  partial?: unknown
  input?: Params
  result?: unknown
  cancelled?: string
}

function give(host: AppHost, { partial, input, result, cancelled }: Sent): void {
  if (partial) host.toolInputPartial(partial as Params)
  if (input) host.toolInput(input)
  if (cancelled !== undefined) host.toolCancelled(cancelled)
  if (result !== undefined) host.toolResult(result)
}

const isOpen = (app: Running | undefined): boolean => !['closed', 'failed', undefined].includes(app?.phase.peek())

const NotYet = () => <p class="muted pad">The app is not open.</p>

const Tree = ({ of, id }: { of: unknown; id: string }) => {
  const root = useMemo(() => json.rootOf(JSON.stringify(of)), [of])
  return <JSONTree root={root} label="Details" id={id} depth={3} />
}

// frameOf waits until an app has its frame.
const frameOf = (app: Running): Promise<AppHost> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const look = () => {
      if (app.host) resolve(app.host)
      else if (performance.now() - began > 5000) reject(new Error('the frame of the app was not drawn'))
      else requestAnimationFrame(look)
    }
    look()
  })

function Stage({ app, context, width, height }: { app: Running; context: HostContext; width: number; height: number }) {
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    app.start(frame.current!, context)
  }, [])
  const inline = app.mode.value === 'inline'
  const tall = inline ? Math.min(app.size.value.height ?? height, height) : height
  return (
    <iframe
      ref={frame}
      class={app.view.prefersBorder === false ? 'app-frame' : 'app-frame bordered'}
      title={`The app of ${app.view.tool.name}${app.isBeside ? ', beside' : ''}`}
      data-scheme={context.theme}
      style={{ width: `${width}px`, height: `${Math.max(tall, 60)}px` }}
    />
  )
}

// The array of messages stays the same; version changes with its content.
function Messages({ of }: { of: Traffic[]; version: number }) {
  const chosen = useSignal<Traffic | undefined>(undefined)
  if (!of.length) return <p class="muted pad">No message has crossed the border of the app.</p>
  const first = of[0]!.time
  return (
    <div class="app-messages">
      <ol aria-label="Messages, the latest first">
        {of.slice(-200).reverse().map((t) => (
          <li key={t.time}>
            <button type="button" class="quiet small" aria-pressed={chosen.value === t} onClick={() => (chosen.value = t)}>
              <span class="muted">+{(t.time - first).toFixed(1)} ms</span> <span class="c-sign">{t.direction === 'in' ? '◂' : '▸'}</span>{' '}
              {t.message.method ?? `${t.message.error ? 'error' : 'result'} of ${String(t.message.id)}`}
            </button>
          </li>
        ))}
      </ol>
      {chosen.value && <Tree of={chosen.value.message} id="app-message" />}
    </div>
  )
}

function Violations({ of }: { of: Blocked[] }) {
  if (!of.length) return <p class="muted pad">Nothing was blocked. What an app may load is in the _meta of its resource.</p>
  return (
    <>
      <p class="pad muted">{plural(of.length, 'violation')}</p>
      <ul class="app-violations">
        {of.map((v, i) => (
          <li key={i}>
            <b>{v.directive}</b> blocked <code>{v.blocked}</code>
            {v.file && <span class="muted"> in {v.file}{v.line ? `:${v.line}` : ''}</span>}
            {v.reason && <span> {v.reason}</span>}
            {v.sample && <pre class="snippet">{v.sample}</pre>}
          </li>
        ))}
      </ul>
    </>
  )
}
