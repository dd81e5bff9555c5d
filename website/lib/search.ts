// The search box of VitePress declares itself a button and its links options, which screen readers
// cannot use. This plugin makes it a dialog with a list of links.
import type { Plugin } from 'vite'

const changes: [string, string][] = [
  ['role="button"', 'role="dialog" aria-modal="true"'],
  [`:aria-owns="results?.length ? 'localsearch-list' : undefined"`, ''],
  ['aria-expanded="true"', ''],
  ['aria-haspopup="listbox"', ''],
  [`:aria-activedescendant="selectedIndex > -1 ? ('localsearch-item-' + selectedIndex) : undefined"`, ''],
  ['aria-autocomplete="both"', ''],
  [`:role="results?.length ? 'listbox' : undefined"`, ''],
  [`:aria-selected="selectedIndex === index ? 'true' : 'false'"`, ''],
  ['role="option"', ''],
  ...['navigateUp', 'navigateDown', 'select', 'close'].map((key): [string, string] => {
    const label = `<kbd :aria-label="translate('modal.footer.${key}KeyAriaLabel')"`
    return [label, label.replace('<kbd', '<kbd role="img"')]
  }),
  [`:aria-label="[...p.titles, p.title].join(' > ')"`, '']
]

export const accessibleSearch: Plugin = {
  name: 'accessible-search',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/VPLocalSearchBox.vue')) return null
    for (const [from, to] of changes) {
      if (!code.includes(from)) throw new Error(`${id}: no ${from}; adapt website/lib/search.ts`)
      code = code.replace(from, to)
    }
    return code
  }
}
