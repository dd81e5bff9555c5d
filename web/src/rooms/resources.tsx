// Resources and templates: the list, what is read, and subscriptions.
import { signal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { failureOf, get, post } from '../api'
import { bytes, count, tokens } from '../format'
import * as json from '../json'
import { useKeys } from '../keys'
import { address, go, param, place, setParams } from '../route'
import { Session, sessionOf } from '../session'
import { catalogs, say, shown, source, sources, updated } from '../store'
import type { Catalog, Resource, Template } from '../types'
import { Complete } from '../ui/complete'
import { Entries, type Item, Nothing } from '../ui/entries'
import { Badge, Fact, Tabs } from '../ui/kit'
import { Findings, Head, Work } from '../ui/work'
import { Definition } from './tools'

const filter = signal('')

const rowsOf = new WeakMap<Catalog, Item[]>()

function itemsOf(catalog: Catalog): Item[] {
  let items = rowsOf.get(catalog)
  if (items) return items
  const name = sources.value.length > 1 ? `${source(catalog.src)?.name}: ` : ''
  const heading = (text: string): Item => ({ src: catalog.src, id: '', name: '', text: '', flags: '', heading: name + text })
  const type = (mime: string | undefined) => mime && <span class="muted small-text">{mime.slice(0, 40)}</span>
  const resources = catalog.resources.map((r): Item => ({
    src: catalog.src,
    id: r.uri,
    name: r.title ?? (r.name || r.uri),
    text: `${r.name} ${r.title ?? ''} ${r.uri} ${r.mimeType ?? ''} ${r.description ?? ''}`.toLowerCase(),
    flags: `${r.ui ? 'ui: ' : ''}${r.findings?.length ? 'bad:' : ''}`,
    badges: (
      <>
        {r.ui && <Badge tone="accent">app</Badge>}
        {type(r.mimeType)}
        {r.size !== undefined && <span class="muted small-text figure">{bytes(r.size)}</span>}
      </>
    ),
  }))
  const templates = catalog.templates.map((t): Item => ({
    src: catalog.src,
    id: t.template,
    name: t.title ?? (t.name || t.template),
    text: `template ${t.name} ${t.title ?? ''} ${t.template} ${t.description ?? ''}`.toLowerCase(),
    flags: `template: ${t.findings?.length ? 'bad:' : ''}`,
    badges: <span class="muted small-text">{t.template.slice(0, 40)}</span>,
  }))
  items = [
    ...(resources.length ? [heading('Resources'), ...resources] : []),
    ...(templates.length ? [heading('Templates'), ...templates] : []),
  ]
  rowsOf.set(catalog, items)
  return items
}

const here = (src: number): Record<string, string> => (sources.value.length > 1 ? { s: source(src)?.name ?? '' } : {})
const isTemplate = (item: Item): boolean => item.flags.startsWith('template:')

/** Resources is the room. */
export function Resources() {
  const items = useComputed(() =>
    shown.value.flatMap((s) => {
      const catalog = catalogs.value.get(s.id)
      return catalog ? itemsOf(catalog) : []
    }),
  )
  const { name, template } = place.value
  const wanted = param('s')
  const chosen = items.value.find(
    (i) => i.heading === undefined && i.id === name && isTemplate(i) === template && (!wanted || source(i.src)?.name === wanted),
  )
  useEffect(() => {
    const first = items.value.find((i) => i.heading === undefined)
    if (!name && first && place.value.room === 'r') go(address(isTemplate(first) ? 'rt' : 'r', first.id, here(first.src)), true)
  }, [name, items.value])
  const catalog = chosen && catalogs.value.get(chosen.src)
  const resource = !template ? catalog?.resources.find((r) => r.uri === name) : undefined
  const pattern = template ? catalog?.templates.find((t) => t.template === name) : undefined
  // A link of a result may lead to a resource that no list names.
  const owner = catalog ?? [...catalogs.value.values()].find((c) => !wanted || source(c.src)?.name === wanted)
  return (
    <section class="room panes">
      <Entries
        id="resources"
        kinds={['resources', 'templates']}
        noun="resource"
        items={items}
        filter={filter}
        placeholder="Filter: words, ui: template: @source"
        selected={(i) => i === chosen}
        onSelect={(i) => go(address(isTemplate(i) ? 'rt' : 'r', i.id, here(i.src)), place.value.name !== '')}
      />
      {pattern && chosen ? (
        <TemplateWork key={`${chosen.src} ${name}`} src={chosen.src} template={pattern} />
      ) : name && !template && owner ? (
        <ResourceWork key={`${owner.src} ${name}`} src={owner.src} uri={name} resource={resource} />
      ) : (
        <Nothing noun="resource" kind="resources" items={items.value} />
      )}
    </section>
  )
}

function ResourceWork({ src, uri, resource }: { src: number; uri: string; resource: Resource | undefined }) {
  const session = useMemo(() => sessionOf(`r ${src} ${uri}`, () => new Session(src, '{}', undefined)), [src, uri])
  const tab = param('v') || 'about'
  const panel = 'about-panel'
  return (
    <Work
      head={
        <Head
          name={resource?.title ?? resource?.name ?? uri}
          description={resource?.description}
          badges={
            resource ? (
              <>
                {resource.ui && <Badge tone="accent">app</Badge>}
                {resource.mimeType && <Badge>{resource.mimeType.slice(0, 80)}</Badge>}
                {resource.size !== undefined && <span class="muted">{bytes(resource.size)}</span>}
              </>
            ) : (
              <Badge tone="warn">not in the list</Badge>
            )
          }
        />
      }
      action={{
        session,
        method: 'resources/read',
        verb: 'Read',
        name: uri,
        params: () => ({ text: `{"uri":${JSON.stringify(uri)}}` }),
        extra: <Subscribe src={src} uri={uri} />,
      }}
      before={<Updates src={src} uri={uri} />}
    >
      <Tabs
        label="About the resource"
        panel={panel}
        tabs={[
          { id: 'about', label: 'About' },
          { id: 'definition', label: 'Definition', hidden: !resource },
          { id: 'findings', label: `Findings ${resource?.findings?.length ?? 0}`, hidden: !resource?.findings?.length },
        ]}
        value={tab}
        onChange={(v) => setParams({ v: v === 'about' ? undefined : v })}
      />
      <div class="call-panel" role="tabpanel" id={panel} aria-labelledby={`${panel}-${tab}`}>
        {tab === 'about' && (
          <dl class="facts">
            <Fact name="URI">
              <code>{uri}</code>
            </Fact>
            {resource && <Fact name="Name">{resource.name}</Fact>}
            {resource?.mimeType && <Fact name="Type">{resource.mimeType}</Fact>}
            {resource && <Fact name="Definition">{`${bytes(resource.bytes)}, ≈ ${count(resource.tokens)} tokens`}</Fact>}
          </dl>
        )}
        {tab === 'definition' && resource && <Definition of={resource.definition} id="definition" />}
        {tab === 'findings' && <Findings of={resource?.findings ?? []} />}
      </div>
    </Work>
  )
}

// Subscribe switches the subscription to a resource.
function Subscribe({ src, uri }: { src: number; uri: string }) {
  const state = source(src)
  const on = !!state?.subscriptions.includes(uri)
  const offered = !!(state?.capabilities?.['resources'] as { subscribe?: boolean } | undefined)?.subscribe
  const toggle = () => {
    post('subscribe', { source: src, uri, on: !on }).then(
      () => say(on ? 'Subscription ended' : 'Subscribed'),
      (error) => say(failureOf(error).text),
    )
  }
  useKeys({ u: () => (offered || on ? toggle() : false) })
  return (
    <button
      type="button"
      aria-pressed={on}
      class={on ? 'pressed' : ''}
      disabled={!offered && !on}
      title={offered ? 'Key u' : 'The server does not declare resources.subscribe'}
      onClick={toggle}
    >
      {on ? '✓ Subscribed' : 'Subscribe'}
    </button>
  )
}

function Updates({ src, uri }: { src: number; uri: string }) {
  const mine = updated.value.filter((u) => u.src === src && u.uri === uri)
  if (!mine.length) return null
  return (
    <p class="partial" role="status">
      Changed {mine.length === 1 ? 'once' : `${mine.length} times`}, last at {new Date(mine[0]!.at).toLocaleTimeString()}: read it again to see the new
      content.
    </p>
  )
}

function TemplateWork({ src, template }: { src: number; template: Template }) {
  const session = useMemo(
    () =>
      sessionOf(`rt ${src} ${template.template}`, () => {
        const start: Record<string, string> = {}
        for (const v of template.variables) if (place.peek().query.has(v)) start[v] = param(v)
        return new Session(src, JSON.stringify(start), undefined)
      }),
    [src, template.template],
  )
  const { draft } = session
  const value = draft.value.value
  const values: Record<string, string> = {}
  for (const v of template.variables) {
    const at = json.at(value, [v])
    if (at?.t === 'string') values[v] = at.text
  }
  const text = JSON.stringify(values)
  const expanded = useSignal<{ uri: string; missing?: string[] | null }>({ uri: template.template })
  useEffect(() => {
    setParams(Object.fromEntries(template.variables.map((v) => [v, values[v]])))
    const abort = new AbortController()
    get<{ uri: string; missing?: string[] | null }>(
      `expand?template=${encodeURIComponent(template.template)}&values=${encodeURIComponent(text)}`,
      abort.signal,
    ).then((e) => (expanded.value = e), () => undefined)
    return () => abort.abort()
  }, [text, template.template])
  const canComplete = !!catalogs.value.get(src)?.completions
  return (
    <Work
      head={
        <Head
          name={template.title ?? (template.name || template.template)}
          description={template.description}
          badges={
            <>
              <Badge>template</Badge>
              {template.mimeType && <Badge>{template.mimeType}</Badge>}
              <span class="figure muted">
                {bytes(template.bytes)} · {tokens(template.tokens)}
              </span>
            </>
          }
        />
      }
      action={{
        session,
        method: 'resources/read',
        verb: 'Read',
        name: template.template,
        params: () => ({ text: `{"uri":${JSON.stringify(expanded.value.uri)}}` }),
        extra: <Subscribe src={src} uri={expanded.value.uri} />,
      }}
      before={<Updates src={src} uri={expanded.value.uri} />}
    >
      <div class="call-panel">
        <p>
          <code class="template-text">{template.template}</code>
        </p>
        <div class="form-fields">
          {template.variables.map((v) => (
            <Complete
              key={v}
              label={v}
              value={values[v]}
              source={src}
              of={{ template: template.template }}
              others={values}
              offered={canComplete}
              onChange={(to) => draft.set(json.set(draft.value.peek(), [v], to === undefined ? undefined : json.stringValue(to)) ?? json.emptyObject())}
            />
          ))}
        </div>
        <p class="expanded">
          <span class="muted">→ </span>
          <code>{expanded.value.uri}</code>
          {expanded.value.missing?.length ? <span class="muted"> (empty: {expanded.value.missing.join(', ')})</span> : null}
        </p>
      </div>
    </Work>
  )
}
