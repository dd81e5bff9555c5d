// Fonts of pictures. Pages use the fonts of the system; those of a server look unlike a desktop's.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const replace = (font, ...families) =>
  families.map((family) => `<match target="pattern"><test name="family"><string>${family}</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>${font}</string></edit></match>`).join('\n')

/** useDesktopFonts makes browsers that start from now on use Inter and JetBrains Mono, if they are installed. */
export function useDesktopFonts(folder) {
  const file = join(folder, 'fonts.conf')
  writeFileSync(file, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<include ignore_missing="yes">/etc/fonts/fonts.conf</include>
${replace('Inter', 'system-ui', 'sans-serif')}
${replace('JetBrains Mono', 'ui-monospace', 'monospace', 'DejaVu Sans Mono')}
</fontconfig>`)
  process.env.FONTCONFIG_FILE = file
}
