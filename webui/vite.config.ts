import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The scheduler keeps a file for good if its name has a hash with a digit in it: hexadecimal ones all but always do.
const named = 'assets/[name]-[hash:12]';

export default defineConfig({
  plugins: [react()],
  server: {
    proxy: { '/v1': { target: process.env.GLIM_HTTP ?? 'http://127.0.0.1:7604', secure: false } },
  },
  build: {
    outDir: process.env.GLIM_WEB_DIST ?? 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    manifest: 'manifest.json',
    rollupOptions: {
      output: {
        hashCharacters: 'hex',
        entryFileNames: `${named}.js`,
        chunkFileNames: `${named}.js`,
        assetFileNames: `${named}[extname]`,
      },
    },
  },
  worker: {
    format: 'es',
    rollupOptions: { output: { hashCharacters: 'hex', entryFileNames: `${named}.js`, chunkFileNames: `${named}.js` } },
  },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/testing/setup.ts'],
  },
});
