import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/submit',
  title: { en: 'Submit', zh: '提交' },
  order: 30,
  role: 'user',
  load: () => import('./Submit'),
};
