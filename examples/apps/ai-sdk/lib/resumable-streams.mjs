// `resumable-stream` without a Redis server: its generic entry, with publisher and subscriber in this process.
import { createResumableStreamContext as createContext } from "resumable-stream/generic";

const values = new Map();
const listeners = new Map();

const publisher = {
  connect: async () => {},
  publish: async (channel, message) => listeners.get(channel)?.(message),
  set: async (key, value) => values.set(key, value),
  get: async (key) => values.get(key) ?? null,
  incr: async (key) => {
    const next = Number(values.get(key) ?? 0) + 1;
    values.set(key, next);
    return next;
  },
};

const subscriber = {
  connect: async () => {},
  subscribe: async (channel, callback) => void listeners.set(channel, callback),
  unsubscribe: async (channel) => void listeners.delete(channel),
};

export const createResumableStreamContext = () => createContext({ waitUntil: null, publisher, subscriber });
