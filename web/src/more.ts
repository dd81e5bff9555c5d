// Rooms and dialogs that are not needed at once: one file besides that of the page. Importing main makes
// the bundler put everything that main needs into one shared file, which index.html loads.
import './main'

export { Apps } from './rooms/apps'
export { Compare } from './rooms/compare'
export { History } from './rooms/history'
export { Prompts } from './rooms/prompts'
export { Resources } from './rooms/resources'
export { Traffic } from './rooms/traffic'
export { Asks } from './ui/asks'
export { Help } from './ui/help'
export { Palette } from './ui/palette'
