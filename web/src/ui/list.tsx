// Lists that draw only the rows in view. A list is one tab stop; arrow keys move in it.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'

// A browser stops at elements of about 33 million pixels.
const maxHeight = 16_000_000
const spare = 4

export interface ListProps {
  count: number
  /** row draws a row; first and last are the rows that are drawn with it. */
  row: (index: number, first: number, last: number) => ComponentChildren
  rowClass?: (index: number) => string
  height?: number
  label: string
  id: string
  selected: number
  onSelect?: (index: number) => void
  /** Enter, or the right arrow. */
  onOpen?: (index: number) => void
  onKey?: (event: KeyboardEvent, index: number) => boolean
  /** Stay at the end while rows are added there. */
  follow?: boolean
  empty?: ComponentChildren
  extra?: string
  /** -1 if another element has the focus and moves in the list. */
  tabIndex?: number
}

export function VirtualList(props: ListProps) {
  const { count, height = 24, id, selected, follow } = props
  const box = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const view = useSignal(600)
  const atEnd = useRef(true)
  const full = Math.min(count * height, maxHeight)
  const scale = full ? (count * height) / full : 1

  useLayoutEffect(() => {
    const element = box.current!
    const measure = () => (view.value = element.clientHeight)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  useLayoutEffect(() => {
    const element = box.current!
    if (follow && atEnd.current) element.scrollTop = full
    else if (element.scrollTop > full) element.scrollTop = full
  }, [count, follow])

  // The chosen row comes into view when another one is chosen.
  useEffect(() => {
    const element = box.current!
    if (selected < 0) return
    const from = (selected * height) / scale
    if (from < element.scrollTop) element.scrollTop = from
    else if (from + height > element.scrollTop + element.clientHeight) {
      element.scrollTop = from + height - element.clientHeight
    }
  }, [selected, id])

  const onScroll = () => {
    const element = box.current!
    top.value = element.scrollTop
    atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - height * 2
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor(view.value / height) - 1)
    const to: Record<string, number> = {
      ArrowDown: selected + 1,
      j: selected + 1,
      ArrowUp: selected - 1,
      k: selected - 1,
      Home: 0,
      End: count - 1,
      PageDown: selected + page,
      PageUp: selected - page,
    }
    if (event.key in to && count) props.onSelect?.(Math.max(0, Math.min(count - 1, to[event.key]!)))
    else if ((event.key === 'Enter' || event.key === 'ArrowRight') && selected >= 0 && props.onOpen) props.onOpen(selected)
    else if (!props.onKey?.(event, selected)) return
    event.preventDefault()
    event.stopPropagation()
  }

  const first = Math.max(0, Math.floor((top.value * scale) / height) - spare)
  const last = Math.min(count, first + Math.ceil(view.value / height) + 2 * spare)
  const offset = Math.min(first * height, full - (last - first) * height)
  const rows = []
  const pool = Math.max(1, Math.ceil(view.value / height) + 2 * spare)
  for (let i = first; i < last; i++) {
    rows.push(
      <div
        key={i % pool}
        id={`${id}-${i}`}
        role="option"
        aria-selected={i === selected}
        aria-setsize={count}
        aria-posinset={i + 1}
        class={`row ${props.rowClass?.(i) ?? ''}`}
        style={{ height: `${height}px`, top: `${(scale > 1 ? offset + (i - first) * height : i * height)}px` }}
        onClick={() => {
          props.onSelect?.(i)
        }}
        onDblClick={() => props.onOpen?.(i)}
      >
        {props.row(i, first, last)}
      </div>,
    )
  }
  return (
    <div
      ref={box}
      id={`${id}-list`}
      class={`list ${props.extra ?? ''}`}
      role="listbox"
      tabIndex={props.tabIndex ?? 0}
      aria-label={props.label}
      aria-activedescendant={selected >= first && selected < last ? `${id}-${selected}` : undefined}
      data-list={id}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      {count ? (
        <div class="list-inner" role="presentation" style={{ height: `${full}px` }}>
          {rows}
        </div>
      ) : (
        <div class="list-empty" role="option" aria-selected={false} aria-disabled>
          {props.empty}
        </div>
      )}
    </div>
  )
}
