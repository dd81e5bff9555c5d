// Markdown as elements: headings, lists, code, quotes, tables, emphasis and links. There is no
// HTML in it: what looks like a tag is text.
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { copy } from './kit'

/** opened is the link that the user is asked about. */
export const asked = signal('')

/** canOpen reports whether an address is one that the page opens. */
export const canOpen = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url)

/** Link shows an address in full before it is opened. Other schemes are only text. */
export function Link({ url, children }: { url: string; children?: ComponentChildren }) {
  if (!canOpen(url)) {
    return (
      <span class="dead-link" title={url.slice(0, 500)}>
        {children ?? url.slice(0, 500)}
      </span>
    )
  }
  return (
    <button type="button" class="link" title={url.slice(0, 500)} onClick={() => (asked.value = url)}>
      {children ?? url}
    </button>
  )
}

/** LinkQuestion asks before an external page is opened. */
export function LinkQuestion() {
  const url = asked.value
  if (!url) return null
  const close = () => (asked.value = '')
  return (
    <div class="backdrop" onClick={(e) => e.target === e.currentTarget && close()}>
      <div class="dialog" role="dialog" aria-modal="true" aria-labelledby="link-title" data-dialog onKeyDown={(e) => e.key === 'Escape' && close()}>
        <h2 id="link-title">Open this address?</h2>
        <p class="address">{url}</p>
        <p class="muted">The page learns that you opened it.</p>
        <div class="buttons">
          <a
            class="button primary"
            href={url}
            target="_blank"
            rel="noreferrer noopener"
            ref={(e: HTMLAnchorElement | null) => e?.focus()}
            onClick={close}
          >
            Open {new URL(url).host}
          </a>
          <button type="button" onClick={() => void copy(url, 'Address copied')}>
            Copy
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </div>
    </div>
  )
}

// A server chooses the texts: each expression takes time in proportion to the text. So what may be of any length
// never has what can follow it, or what it began with.
const inline = /(?<!`)(`+)(?!`)([^]+?)(?<!`)\1(?!`)|(!?)\[([^[\]]*)\]\(([^()\s]+)(?:\s[^()]*)?\)|\*\*([^]+?)\*\*|(?<![\w*])\*([^*\s][^*]*?)\*|(?<![\w_])_([^_\s][^_]*?)_(?!\w)|~~([^~]+)~~|(https?:\/\/[^\s<>()"'`]+)/g

function Inline({ text, depth = 0 }: { text: string; depth?: number }): ComponentChildren {
  const out: ComponentChildren[] = []
  let last = 0
  const nested = (inner: string) => (depth < 4 ? <Inline text={inner} depth={depth + 1} /> : inner)
  for (const m of text.matchAll(inline)) {
    if (m.index > last) out.push(text.slice(last, m.index))
    last = m.index + m[0].length
    if (m[2]) out.push(<code>{m[2]}</code>)
    else if (m[5]) out.push(<Link url={m[5]}>{m[3] ? `[image] ${m[4] || m[5]}` : nested(m[4] || m[5])}</Link>)
    else if (m[6]) out.push(<strong>{nested(m[6])}</strong>)
    else if (m[7] ?? m[8]) out.push(<em>{nested((m[7] ?? m[8])!)}</em>)
    else if (m[9]) out.push(<del>{m[9]}</del>)
    else if (m[10]) out.push(<Link url={m[10]} />)
  }
  out.push(text.slice(last))
  return <>{out}</>
}

const splitRow = (line: string) =>
  line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((c) => c.trim().replace(/\\\|/g, '|'))
const isRule = (line: string | undefined) => line?.includes('|') && splitRow(line).every((c) => /^:?-+:?$/.test(c))
const item = /^(\s*)([-*+]|\d{1,9}[.)])\s([^]*)/

interface Block {
  element: ComponentChildren
  next: number
}

function fence(lines: string[], i: number): Block | undefined {
  const open = /^\s*(```+|~~~+)/.exec(lines[i]!)
  if (!open) return undefined
  let end = i + 1
  while (end < lines.length && !lines[end]!.trim().startsWith(open[1]!)) end++
  return { element: <pre class="snippet" tabIndex={0}>{lines.slice(i + 1, end).join('\n')}</pre>, next: end + 1 }
}

function table(lines: string[], i: number): Block | undefined {
  if (!lines[i]!.includes('|') || !isRule(lines[i + 1])) return undefined
  let end = i + 2
  while (end < lines.length && lines[end]!.includes('|')) end++
  const sides = splitRow(lines[i + 1]!).map((c) => (c.endsWith(':') ? (c.startsWith(':') ? 'center' : 'right') : 'left'))
  const style = (column: number) => ({ textAlign: sides[column] ?? 'left' })
  const element = (
    <div class="table-box" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>{splitRow(lines[i]!).map((c, n) => <th style={style(n)}><Inline text={c} /></th>)}</tr>
        </thead>
        <tbody>
          {lines.slice(i + 2, end).map((l) => <tr>{splitRow(l).map((c, n) => <td style={style(n)}><Inline text={c} /></td>)}</tr>)}
        </tbody>
      </table>
    </div>
  )
  return { element, next: end }
}

function list(lines: string[], i: number, depth: number): Block | undefined {
  const first = item.exec(lines[i]!)
  if (!first) return undefined
  const ordered = /\d/.test(first[2]!)
  const items: string[][] = []
  let end = i
  for (; end < lines.length; end++) {
    const line = lines[end]!
    const m = item.exec(line)
    if (m && m[1]!.length <= first[1]!.length + 1) {
      if (/\d/.test(m[2]!) !== ordered) break
      items.push([m[3]!.trim()])
    } else if (line.trim() === '' ? item.test(lines[end + 1] ?? '') || /^\s{2,}\S/.test(lines[end + 1] ?? '') : /^\s{2,}/.test(line) || !isBlock(line)) {
      items.at(-1)!.push(line.replace(/^\s{1,4}/, ''))
    } else break
  }
  const children = items.map((text) => {
    const task = /^\[([ xX])\] /.exec(text[0]!)
    if (task) text[0] = `${task[1] === ' ' ? '☐' : '☑'} ${text[0]!.slice(4)}`
    return <li class={task ? 'task' : undefined}>{text.length === 1 ? <Inline text={text[0]!} /> : blocks(text, depth + 1)}</li>
  })
  return { element: ordered ? <ol start={parseInt(first[2]!, 10)}>{children}</ol> : <ul>{children}</ul>, next: end }
}

const isBlock = (line: string) => /^\s*(#{1,6}\s|```|~~~|>|[-*+]\s|\d+[.)]\s)/.test(line)

function blocks(lines: string[], depth = 0): ComponentChildren[] {
  if (depth > 20) return [lines.join('\n')] // drawing deeper ones could exhaust the stack
  const out: ComponentChildren[] = []
  for (let i = 0; i < lines.length; ) {
    const line = lines[i]!
    const heading = /^\s{0,3}(#{1,6})\s([^]*)/.exec(line)
    const known = fence(lines, i) ?? table(lines, i) ?? list(lines, i, depth)
    if (!line.trim()) i++
    else if (known) {
      out.push(known.element)
      i = known.next
    } else if (heading) {
      out.push(<p class={`md-h md-h${heading[1]!.length}`}><Inline text={heading[2]!.trim().replace(/ #+$/, '')} /></p>)
      i++
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      out.push(<hr />)
      i++
    } else if (/^\s*>/.test(line)) {
      let end = i
      while (end < lines.length && /^\s*>/.test(lines[end]!)) end++
      out.push(<blockquote>{blocks(lines.slice(i, end).map((l) => l.replace(/^\s*>\s?/, '')), depth + 1)}</blockquote>)
      i = end
    } else {
      let end = i + 1
      while (end < lines.length && lines[end]!.trim() && !isBlock(lines[end]!)) end++
      out.push(<p><Inline text={lines.slice(i, end).join('\n')} /></p>)
      i = end
    }
  }
  return out
}

/** maxMarkdown is how long a text may be to be drawn as Markdown. */
export const maxMarkdown = 60_000

/** Markdown draws a text; one that is longer than maxMarkdown as it is. */
export const Markdown = ({ text }: { text: string }) => (
  <div class="markdown">{text.length > maxMarkdown ? <pre class="snippet" tabIndex={0}>{text}</pre> : blocks(text.split(/\r?\n/))}</div>
)

/** looksLikeMarkdown reports whether a text has marks that plain text does not have. */
export const looksLikeMarkdown = (text: string): boolean =>
  text.length <= maxMarkdown && /^(#{1,6} |[-*] |\d+\. |```|> |\|.*\|)|\*\*[^*]+\*\*|\[[^[\]]+\]\(http/m.test(text)
