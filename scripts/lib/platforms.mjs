// The platforms that prebuilds are made for, and what each needs. The folder names are node-gyp-build's.

/**
 * variants: upstream's CPU backends that the package brings; left out, all of them.
 * Of x64's those are left out that hardly any machine would choose: cannonlake, cooperlake, piledriver, ivybridge.
 * Of arm64's those with SME: GCC has it from 14 on.
 */
export const PLATFORMS = {
  'linux-x64': {
    variants: [
      'x64',
      'sse42',
      'sandybridge',
      'haswell',
      'alderlake',
      'skylakex',
      'cascadelake',
      'icelake',
      'zen4',
      'sapphirerapids',
    ],
  },
  'linux-arm64': {
    variants: ['armv8.0_1', 'armv8.2_1', 'armv8.2_2', 'armv8.2_3', 'armv8.6_1', 'armv8.6_2'],
    cross: {
      toolchain: 'cmake/aarch64-linux-gnu.cmake',
      compiler: 'aarch64-linux-gnu-g++',
      strip: 'aarch64-linux-gnu-strip',
      debian: 'g++-aarch64-linux-gnu',
    },
  },
  'darwin-arm64': {},
  'win32-x64': {},
}

export const THIS_PLATFORM = `${process.platform}-${process.arch}`

/** The newest symbol versions that a prebuild may ask of a Linux system: those of Debian 12 and Ubuntu 22.04. */
export const NEWEST = { GLIBC: '2.34', GLIBCXX: '3.4.30' }

/** Bytes of all prebuilds together. */
export const SIZE_LIMIT = 60e6
