// A JSON tree of any size: nodes are found in the text when they are opened.
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { count } from '../format'
import { childrenOf, type Node, pathText, stringOf, textOf } from '../json'
import { copy } from './kit'
import { VirtualList } from './list'

interface Row {
  node: Node
  depth: number
  parent: number // the row of the parent, or -1
  open: boolean
  more?: number // this row stands for items that are not shown
}

const page = 2000
const preview = 400

/** Tree keeps the rows that are visible. */
class Tree {
  rows: Row[] = []

  constructor(root: Node, depth = 1) {
    this.rows = [{ node: root, depth: 0, parent: -1, open: false }]
    this.openTo(depth)
  }

  // openTo opens what is less deep, but stops before the list gets long.
  openTo(depth: number): void {
    for (let i = 0; i < this.rows.length && this.rows.length < page; i++) {
      if (this.rows[i]!.depth < depth && !this.rows[i]!.open) this.toggle(i)
    }
  }

  isBranch(row: Row): boolean {
    return row.node.kind === 'object' || row.node.kind === 'array'
  }

  toggle(index: number): void {
    const row = this.rows[index]
    if (!row) return
    if (row.more !== undefined) return this.showMore(index)
    if (!this.isBranch(row)) return
    if (row.open) {
      let end = index + 1
      while (end < this.rows.length && this.rows[end]!.depth > row.depth) end++
      this.replace(index + 1, end - index - 1, [])
    } else {
      this.replace(index + 1, 0, this.below(row, index, 0))
    }
    row.open = !row.open
  }

  private below(row: Row, parent: number, from: number): Row[] {
    const { list, more } = childrenOf(row.node, from + page)
    const rows: Row[] = list.slice(from).map((node) => ({ node, depth: row.depth + 1, parent, open: false }))
    if (more) rows.push({ node: row.node, depth: row.depth + 1, parent, open: false, more: list.length })
    return rows
  }

  private showMore(index: number): void {
    const row = this.rows[index]!
    this.replace(index, 1, this.below(this.rows[row.parent]!, row.parent, row.more!))
  }

  private replace(index: number, remove: number, added: Row[]): void {
    const after = this.rows.slice(index + remove)
    const shift = added.length - remove
    for (const row of after) if (row.parent >= index) row.parent += shift
    this.rows = [...this.rows.slice(0, index), ...added, ...after]
  }

  path(index: number): (string | number)[] {
    const keys: (string | number)[] = []
    for (let i = index; i >= 0; i = this.rows[i]!.parent) {
      const { key } = this.rows[i]!.node
      if (this.rows[i]!.depth > 0 && key !== undefined) keys.unshift(key)
    }
    return keys
  }

  // reveal opens everything around a place in the text, and returns its row.
  reveal(offset: number): number {
    for (let i = 0; ; ) {
      const row = this.rows[i]
      if (!row || !this.isBranch(row)) return i
      if (!row.open) this.toggle(i)
      let inside = -1
      for (let j = i + 1; j < this.rows.length && this.rows[j]!.depth > row.depth; j++) {
        const child = this.rows[j]!
        if (child.depth !== row.depth + 1) continue
        if (child.more !== undefined) {
          this.toggle(j--)
          continue
        }
        if (child.node.to > offset) {
          inside = j
          break
        }
      }
      if (inside < 0) return i
      i = inside
    }
  }
}

function Scalar({ node }: { node: Node }) {
  if (node.kind === 'string') {
    const text = textOf({ ...node, to: Math.min(node.to, node.from + preview) })
    return <span class="json-string">{node.to - node.from > preview ? `${text}…` : text}</span>
  }
  return <span class={`json-${node.kind}`}>{textOf(node).slice(0, preview) || '(cut off)'}</span>
}

function summary(row: Row, tree: Tree): string {
  const [start, end] = row.node.kind === 'array' ? '[]' : '{}'
  if (row.open) return start!
  const { list, more } = childrenOf(row.node, 100)
  if (!list.length) return start! + end!
  const names = row.node.kind === 'object' ? list.slice(0, 4).map((n) => String(n.key).slice(0, 24)).join(', ') : ''
  const size = `${list.length}${more ? '+' : ''}`
  void tree
  return row.node.kind === 'array' ? `[ ${size} ]` : `{ ${names}${list.length > 4 ? ', …' : ''} }`
}

export function JSONTree({ root, label, id, depth = 2 }: { root: Node; label: string; id: string; depth?: number }) {
  const tree = useMemo(() => new Tree(root, depth), [root.text, root.from, root.to])
  const version = useSignal(0)
  const selected = useSignal(0)
  const search = useSignal('')
  const found = useSignal('')
  version.value

  const toggle = (i: number) => {
    tree.toggle(i)
    version.value++
  }
  const find = (again: boolean) => {
    const wanted = search.value.toLowerCase()
    if (!wanted) return
    const row = tree.rows[selected.value]
    const text = root.text.toLowerCase()
    const isLeaf = row && !row.open
    let offset = text.indexOf(wanted, again && row ? (isLeaf ? row.node.to : row.node.from + 1) : root.from)
    if (offset < 0 || offset >= root.to) offset = text.indexOf(wanted, root.from)
    if (offset < 0 || offset >= root.to) {
      found.value = 'not found'
      return
    }
    selected.value = tree.reveal(offset)
    found.value = ''
    version.value++
  }
  const onKey = (event: KeyboardEvent, i: number) => {
    const row = tree.rows[i]
    if (event.key === 'x') {
      const all = tree.rows[0]?.open
      if (all) tree.toggle(0)
      else tree.openTo(99)
      selected.value = 0
      version.value++
    } else if (event.key === ' ') toggle(i)
    else if (event.key === 'ArrowLeft' && row) {
      if (row.open) toggle(i)
      else if (row.parent >= 0) selected.value = row.parent
    } else if (event.key === '/') {
      ;(event.currentTarget as HTMLElement).parentElement?.querySelector('input')?.focus()
    } else return false
    return true
  }
  const row = tree.rows[selected.value]
  const path = row ? pathText(tree.path(selected.value)) : '$'
  return (
    <div class="tree">
      <div class="tree-bar">
        <input
          class="small"
          type="search"
          placeholder="Find in JSON"
          aria-label={`Find in ${label}`}
          value={search.value}
          onInput={(e) => {
            search.value = e.currentTarget.value
            find(false)
          }}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && !e.ctrlKey && !e.metaKey) {
              e.preventDefault()
              find(true)
            }
          }}
        />
        <span class="muted" role="status">
          {found.value}
        </span>
        <button type="button" class="path quiet small" title="Copy the path" onClick={() => void copy(path, 'Path copied')}>
          {path}
        </button>
        {row && (
          <button
            type="button"
            class="quiet small"
            onClick={() => void copy(row.node.kind === 'string' ? stringOf(row.node) : textOf(row.node), 'Value copied')}
          >
            Copy value
          </button>
        )}
      </div>
      <VirtualList
        id={id}
        label={label}
        count={tree.rows.length}
        height={20}
        selected={Math.min(selected.value, tree.rows.length - 1)}
        onSelect={(i) => (selected.value = i)}
        onOpen={toggle}
        onKey={onKey}
        extra="json"
        row={(i) => {
          const r = tree.rows[i]
          if (!r) return null
          const indent = { paddingLeft: `${r.depth * 16}px` }
          if (r.more !== undefined) {
            return (
              <span style={indent} class="json-more" onClick={() => toggle(i)}>
                … after {count(r.more)} items: show the next {count(page)}
              </span>
            )
          }
          const branch = tree.isBranch(r)
          return (
            <span style={indent}>
              <span class={r.open ? 'fold open' : 'fold'} aria-hidden="true" onClick={() => toggle(i)}>
                {branch ? '›' : ''}
              </span>
              {r.depth > 0 && (
                <span class={typeof r.node.key === 'number' ? 'json-index' : 'json-key'}>{String(r.node.key).slice(0, 200)}: </span>
              )}
              {branch ? <span class="json-branch">{summary(r, tree)}</span> : <Scalar node={r.node} />}
              {r.node.cut && <span class="json-cut"> … cut off here</span>}
            </span>
          )
        }}
      />
    </div>
  )
}
