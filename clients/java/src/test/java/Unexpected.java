/** Something is not as the scenario says. */
final class Unexpected extends Exception {
  private static final long serialVersionUID = 1;

  Unexpected(String what) {
    super(what);
  }
}
