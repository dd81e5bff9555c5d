// The figures of the landing page, from the pages that record them. A row that is renamed fails
// the build.
import { releases } from '../../lib/changelog.ts'
import { docs, text } from '../../lib/pages.ts'
import { repository, siteURL } from '../../lib/site.ts'

/** measured returns a figure of the table "Results in short" in docs/performance.md. */
function measured(question: string, figure: RegExp): string {
  const row = text('docs/performance.md').split('\n').find((line) => line.startsWith(`| ${question} |`))
  const found = row && figure.exec(row.split('|')[2])
  if (!found) throw new Error(`docs/performance.md: no figure for "${question}"`)
  return found[1]
}

const clients = docs.filter((p) => /^docs\/clients\/(?!README)/.test(p)).length
const versions = new Set(text('docs/protocol.md').match(/\b20\d\d-\d\d-\d\d\b/g)).size

/** install lists the commands of the table in docs/install.md, with what each of them needs. */
function install(): { needs: string; command: string }[] {
  const rows = text('docs/install.md').split(/^## /m)[0].matchAll(/^\| ([^|]+) \| `([^`|]+)` \|$/gm)
  const found = [...rows].map(([, needs, command]) => ({ needs, command }))
  if (!found.length) throw new Error('docs/install.md: no table of commands')
  return found
}

export interface Data {
  install: { needs: string; command: string }[]
  released: boolean
  repository: string
  mcp: string
  changelog: string
  clients: number
  figures: { value: string; unit?: string; text: string; link: string }[]
}

declare const data: Data
export { data }

export default {
  load: (): Data => ({
    install: install(),
    released: !text('docs/install.md').includes('No release is published yet'),
    repository,
    mcp: `${siteURL}mcp/`,
    changelog: `/changelog/${releases[0]}`,
    clients,
    figures: [
      {
        value: measured('a tool call over HTTP', /([\d.]+) of the floor/),
        unit: '×',
        text: 'the CPU of a bare net/http handler for a tool call over HTTP',
        link: '/docs/performance'
      },
      {
        value: measured('start of the command to its first answer', /([\d.]+) ms at best/),
        unit: 'ms',
        text: 'from starting the command to its first answer',
        link: '/docs/performance'
      },
      {
        value: measured('an idle session', /(\d+) bytes/),
        unit: 'B',
        text: 'of memory for an idle session',
        link: '/docs/reference/measurements'
      },
      {
        value: measured('20 minutes of servers killed and suspended', /(\d+) wrong answers/),
        text: 'wrong answers in 20 minutes of servers killed and suspended under load',
        link: '/docs/performance'
      },
      { value: String(versions), text: 'protocol versions on one URL, old clients and new', link: '/docs/protocol' },
      { value: String(clients), text: 'clients configured from one definitions file', link: '/docs/clients/' }
    ]
  })
}
