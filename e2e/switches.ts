import { expect, type Page } from '@playwright/test'

/** Sets a switch of the demo and waits until it stands: who leaves the page at once takes the request with them. */
export async function setSwitch(page: Page, name: string, isOn: boolean): Promise<void> {
  const found = page.getByRole('switch', { name })
  await found.click()
  await expect(found).toBeChecked({ checked: isOn, timeout: 10_000 })
}
