// What is done with pictures is done by the browser: nothing else here reads or writes them.
import type { Browser, Page } from '@playwright/test';

const DIFFERS = 24; // of 255: more than that is not the background

// Pictures of a page, through a page of their own that is empty.
export class Images {
  private constructor(private readonly page: Page) {}

  static async of(browser: Browser): Promise<Images> {
    return new Images(await (await browser.newContext()).newPage());
  }

  close(): Promise<void> {
    return this.page.context().close();
  }

  // Colours in steps of eight: the files are a third as large, and nobody sees it.
  webp(png: Buffer): Promise<Buffer> {
    return this.drawn(png, 1, 'image/webp', 8);
  }

  smaller(png: Buffer, factor: number): Promise<Buffer> {
    return this.drawn(png, factor, 'image/png', 1);
  }

  private async drawn(png: Buffer, factor: number, type: string, step: number): Promise<Buffer> {
    const text = await this.page.evaluate(
      async ({ base64, factor, type, step }) => {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
        const [width, height] = [Math.round(bitmap.width / factor), Math.round(bitmap.height / factor)];
        const canvas = new OffscreenCanvas(width, height);
        const context = canvas.getContext('2d')!;
        context.imageSmoothingQuality = 'high';
        context.drawImage(bitmap, 0, 0, width, height);
        const image = context.getImageData(0, 0, width, height);
        const of = (value: number) => Math.min(255, Math.round(value / step) * step);
        if (step > 1) image.data.forEach((value, at, data) => (data[at] = of(value)));
        context.putImageData(image, 0, 0);
        const made = new Uint8Array(await (await canvas.convertToBlob({ type, quality: 1 })).arrayBuffer());
        let letters = '';
        for (const byte of made) letters += String.fromCharCode(byte);
        return btoa(letters);
      },
      { base64: png.toString('base64'), factor, type, step },
    );
    return Buffer.from(text, 'base64');
  }

  // Which share of its pixels is not the background: what a blank picture would lack.
  ink(png: Buffer): Promise<number> {
    return this.page.evaluate(
      async ({ base64, differs }) => {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')!;
        context.drawImage(bitmap, 0, 0);
        const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
        const counts = new Map<number, number>();
        const keyOf = (at: number) => (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!;
        for (let at = 0; at < data.length; at += 4) counts.set(keyOf(at), (counts.get(keyOf(at)) ?? 0) + 1);
        const most = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
        const [red, green, blue] = [most >> 16, (most >> 8) & 255, most & 255];
        let ink = 0;
        for (let at = 0; at < data.length; at += 4) {
          const far = Math.max(
            Math.abs(data[at]! - red),
            Math.abs(data[at + 1]! - green),
            Math.abs(data[at + 2]! - blue),
          );
          if (far > differs) ink++;
        }
        return ink / (data.length / 4);
      },
      { base64: png.toString('base64'), differs: DIFFERS },
    );
  }
}
