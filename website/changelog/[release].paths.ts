import { changes, releases } from '../lib/changelog.ts'

export default {
  paths: () => releases.map((release) => ({ params: { release }, content: changes(release) }))
}
