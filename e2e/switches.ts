import { expect, type Page } from '@playwright/test'

/**
 * Sets a switch of the demo and waits until it stands: who leaves the page at once takes the request with them. Clicked again when
 * nothing came of it: a page that came from the server does not hear clicks before its script is there.
 */
export async function setSwitch(page: Page, name: string, isOn: boolean): Promise<void> {
  const found = page.getByRole('switch', { name })
  await expect(async () => {
    if ((await found.isChecked()) !== isOn) await found.click()
    await expect(found).toBeChecked({ checked: isOn, timeout: 3_000 })
  }).toPass({ timeout: 15_000 })
}
