/** Whether only this machine reaches the address, or reached it. */
export const isLoopback = (address: string): boolean => /^(127\.|::1$|::ffff:127\.)/.test(address)
