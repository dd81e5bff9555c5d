// What changed in the lists of a source, by name and line by line.
import { useSignal } from '@preact/signals'
import { catalogs, earlier } from '../store'
import type { Catalog, CatalogDiff } from '../types'

type Kind = 'tools' | 'resources' | 'templates' | 'prompts'

const keyOf = (kind: Kind, entry: { name: string; uri?: string; template?: string }): string =>
  kind === 'resources' ? (entry.uri ?? '') : kind === 'templates' ? (entry.template ?? '') : entry.name

function definition(catalog: Catalog | undefined, kind: Kind, name: string): string[] {
  const entries: { name: string; uri?: string; template?: string; definition: unknown }[] = catalog?.[kind] ?? []
  const entry = entries.find((e) => keyOf(kind, e) === name)
  return entry ? JSON.stringify(entry.definition, null, 2).split('\n') : []
}

/** lineDiff returns the lines of two texts with -, + or a space before them; equal ones only near changes. */
export function lineDiff(a: string[], b: string[]): string[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const left = a.slice(start, a.length - end)
  const right = b.slice(start, b.length - end)
  const near = (lines: string[]) => lines.map((l) => `  ${l}`)
  return [
    ...near(a.slice(Math.max(0, start - 3), start)),
    ...(left.length * right.length > 250_000 ? [...left.map((l) => `- ${l}`), ...right.map((l) => `+ ${l}`)] : middle(left, right)),
    ...near(a.slice(a.length - end, a.length - end + 3)),
  ]
}

// middle compares by the longest common subsequence.
function middle(a: string[], b: string[]): string[] {
  const width = b.length + 1
  const best = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1]! + 1 : Math.max(best[(i + 1) * width + j]!, best[i * width + j + 1]!)
    }
  }
  const out: string[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(`  ${a[i++]}`)
      j++
    } else if (j >= b.length || (i < a.length && best[(i + 1) * width + j]! >= best[i * width + j + 1]!)) out.push(`- ${a[i++]}`)
    else out.push(`+ ${b[j++]}`)
  }
  return out
}

function Changed({ src, kind, name }: { src: number; kind: Kind; name: string }) {
  const open = useSignal(false)
  const lines = open.value ? lineDiff(definition(earlier.get(src), kind, name), definition(catalogs.value.get(src), kind, name)) : []
  return (
    <li>
      <button type="button" class="link" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        ~ {name}
      </button>
      {open.value && (
        <pre class="diff" tabIndex={0}>
          {lines.slice(0, 400).map((l) => (
            <span class={l[0] === '+' ? 'added' : l[0] === '-' ? 'removed' : undefined}>{l + '\n'}</span>
          ))}
        </pre>
      )}
    </li>
  )
}

/** Changes lists the last changes of the lists. */
export function Changes({ list, kinds }: { list: CatalogDiff[]; kinds: Kind[] }) {
  return (
    <ul class="changes" aria-label="Changes of the lists">
      {list.flatMap((d) =>
        kinds.flatMap((kind) => [
          ...(d[kind]?.added ?? []).slice(0, 200).map((name) => <li class="ok-text">+ {name}</li>),
          ...(d[kind]?.removed ?? []).slice(0, 200).map((name) => <li class="error-text">− {name}</li>),
          ...(d[kind]?.changed ?? []).slice(0, 200).map((name) => <Changed src={d.src} kind={kind} name={name} />),
        ]),
      )}
    </ul>
  )
}
