// Prompts: their arguments with completion, and the messages as a model gets them.
import { signal, useComputed } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { bytes, count, plural } from '../format'
import * as json from '../json'
import { address, go, param, place, setParams } from '../route'
import { Session, sessionOf } from '../session'
import { catalogs, shown, source, sources } from '../store'
import type { Catalog, Prompt } from '../types'
import { Complete } from '../ui/complete'
import { Editor } from '../ui/editor'
import { Entries, type Item, Nothing } from '../ui/entries'
import { Tabs } from '../ui/kit'
import { Findings, Head, Work } from '../ui/work'
import { Definition } from './tools'

const filter = signal('')
const rowsOf = new WeakMap<Catalog, Item[]>()

function itemsOf(catalog: Catalog): Item[] {
  let items = rowsOf.get(catalog)
  if (!items) {
    items = catalog.prompts.map((p) => ({
      src: catalog.src,
      id: p.name,
      name: p.name,
      text: `${p.name} ${p.title ?? ''} ${p.description ?? ''}`.toLowerCase(),
      flags: p.findings?.length ? 'bad:' : '',
      tokens: p.tokens,
      badges: p.arguments?.length ? <span class="muted small-text">{plural(p.arguments.length, 'argument')}</span> : undefined,
    }))
    rowsOf.set(catalog, items)
  }
  return items
}

const here = (src: number): Record<string, string> => (sources.value.length > 1 ? { s: source(src)?.name ?? '' } : {})

/** Prompts is the room. */
export function Prompts() {
  const items = useComputed(() =>
    shown.value.flatMap((s) => {
      const catalog = catalogs.value.get(s.id)
      return catalog ? itemsOf(catalog) : []
    }),
  )
  const { name } = place.value
  const wanted = param('s')
  const chosen = items.value.find((i) => i.id === name && (!wanted || source(i.src)?.name === wanted))
  const prompt = chosen && catalogs.value.get(chosen.src)?.prompts.find((p) => p.name === name)
  useEffect(() => {
    const first = items.value[0]
    if (!name && first && place.value.room === 'p') go(address('p', first.id, here(first.src)), true)
  }, [name, items.value])
  return (
    <section class="room panes">
      <Entries
        id="prompts"
        kinds={['prompts']}
        noun="prompt"
        items={items}
        filter={filter}
        placeholder="Filter: words, @source"
        selected={(i) => i === chosen}
        onSelect={(i) => go(address('p', i.id, here(i.src)), place.value.name !== '')}
      />
      {prompt ? (
        <PromptWork key={`${chosen.src} ${prompt.name}`} src={chosen.src} prompt={prompt} />
      ) : (
        <Nothing noun="prompt" kind="prompts" items={items.value} />
      )}
    </section>
  )
}

function PromptWork({ src, prompt }: { src: number; prompt: Prompt }) {
  const session = useMemo(
    () => sessionOf(`p ${src} ${prompt.name}`, () => new Session(src, param('a') || '{}', { source: src, prompt: prompt.name })),
    [src, prompt.name],
  )
  const { draft } = session
  const value = draft.value.value
  const args = prompt.arguments ?? []
  const values: Record<string, string> = {}
  for (const { name } of args) {
    const at = json.at(value, [name])
    if (at?.t === 'string') values[name] = at.text
  }
  const text = draft.oneLine()
  useEffect(() => {
    const timer = setTimeout(() => setParams({ a: text === '{}' || text.length > 4096 ? undefined : text }), 250)
    return () => clearTimeout(timer)
  }, [text, prompt.name])
  const order = args.map((a) => a.name)
  const tab = param('v') || 'form'
  const panel = 'prompt-panel'
  const problemOf = (name: string): string | undefined =>
    values[name] === undefined && !session.attempted.value
      ? undefined
      : draft.problems.value.find((p) => p.pointer === json.pointerOf([name]))?.text
  const canComplete = !!catalogs.value.get(src)?.completions
  return (
    <Work
      head={
        <Head
          name={prompt.name}
          title={prompt.title}
          description={prompt.description}
          badges={
            <span class="figure muted">
              {bytes(prompt.bytes)} · ≈ {count(prompt.tokens)} tokens
            </span>
          }
        />
      }
      action={{
        session,
        method: 'prompts/get',
        verb: 'Get',
        name: prompt.name,
        canSendAnyway: true,
        params: () =>
          draft.broken.peek()
            ? { problem: 'The arguments are not JSON yet' }
            : { text: `{"name":${JSON.stringify(prompt.name)}${text === '{}' ? '' : `,"arguments":${draft.oneLine()}`}}` },
      }}
    >
      <Tabs
        label="Arguments"
        panel={panel}
        tabs={[
          { id: 'form', label: 'Form' },
          { id: 'json', label: 'JSON' },
          { id: 'definition', label: 'Definition' },
          { id: 'findings', label: `Findings ${prompt.findings?.length ?? 0}`, hidden: !prompt.findings?.length },
        ]}
        value={tab}
        onChange={(v) => setParams({ v: v === 'form' ? undefined : v })}
      />
      <div class="call-panel" role="tabpanel" id={panel} aria-labelledby={`${panel}-${tab}`}>
        {tab === 'form' && (
          <div class="form-fields">
            {!args.length && <p class="muted">No arguments.</p>}
            {args.map((a) => (
              <Complete
                key={a.name}
                label={a.name}
                title={a.title}
                help={a.description}
                required={a.required}
                value={values[a.name]}
                source={src}
                of={{ prompt: prompt.name }}
                others={values}
                offered={canComplete}
                problem={problemOf(a.name)}
                onChange={(to) =>
                  draft.set(json.set(draft.value.peek(), [a.name], to === undefined ? undefined : json.stringValue(to), order) ?? json.emptyObject())
                }
              />
            ))}
          </div>
        )}
        {tab === 'json' && <Editor draft={draft} form={undefined} view="json" label={`Arguments of ${prompt.name}`} />}
        {tab === 'definition' && <Definition of={prompt.definition} id="definition" />}
        {tab === 'findings' && <Findings of={prompt.findings ?? []} />}
      </div>
    </Work>
  )
}
