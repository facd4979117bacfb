# A shim for tools that expect node-gyp: the build itself is CMakeLists.txt, reached through cmake-js. It is not in the
# package: `npm ci` and `npm rebuild` would run it, as a lockfile does not keep `gypfile: false`.
{
  'targets': [
    {
      'target_name': 'h2o_llama',
      'type': 'none',
      'actions': [
        {
          'action_name': 'cmake-js',
          'inputs': ['CMakeLists.txt'],
          'outputs': ['build/Release/.h2o_llama-always'],
          'action': ['node', 'scripts/build.mjs', '--native'],
        },
      ],
    },
  ],
}
