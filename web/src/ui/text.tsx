// Text of any length. A short one is one element, a long one is cut into lines that are drawn
// when they come into view.
import { useComputed, useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { VirtualList } from './list'

const short = 30_000
const lineHeight = 18

/** cutLines returns where each line begins, and the end. No line is longer than width. */
export function cutLines(text: string, width: number): Uint32Array {
  const starts: number[] = []
  for (let at = 0; at < text.length; ) {
    starts.push(at)
    const next = text.indexOf('\n', at)
    const end = next < 0 ? text.length : next
    if (end - at > width) at += width
    else at = end + 1
  }
  starts.push(text.length)
  return Uint32Array.from(starts)
}

export function TextView({ text, label, wrap = true }: { text: string; label: string; wrap?: boolean }) {
  const box = useRef<HTMLDivElement>(null)
  const width = useSignal(100)
  const selected = useSignal(-1)
  const content = useSignal(text)
  content.value = text
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const measure = () => (width.value = Math.max(20, Math.floor((element.clientWidth - 40) / 7.3)))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [text.length > short])
  const lines = useComputed(() =>
    content.value.length > short ? cutLines(content.value, wrap ? width.value : 2000) : new Uint32Array(),
  )
  if (text.length <= short) {
    return (
      <pre class={wrap ? 'text wrap' : 'text'} tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
    )
  }
  const starts = lines.value
  return (
    <div class="text-box" ref={box}>
      <VirtualList
        id="text"
        label={label}
        count={starts.length - 1}
        height={lineHeight}
        selected={selected.value}
        onSelect={(i) => (selected.value = i)}
        extra="text"
        row={(i) => text.slice(starts[i], starts[i + 1]).replace(/\n$/, '')}
      />
    </div>
  )
}
