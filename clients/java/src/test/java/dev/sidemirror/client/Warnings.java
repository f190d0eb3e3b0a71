package dev.sidemirror.client;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What the client's log says, from here until it is closed. */
final class Warnings extends Handler implements AutoCloseable {
  private static final Logger LOGGER = Logger.getLogger("dev.sidemirror.client");

  final LinkedBlockingQueue<String> told = new LinkedBlockingQueue<>();

  Warnings() {
    LOGGER.addHandler(this);
  }

  @Override
  public void publish(LogRecord record) {
    told.add(new SimpleFormatter().formatMessage(record));
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    LOGGER.removeHandler(this);
  }
}
