// What the released jars of Lucene and ICU4J say, written to files for build_tables.py and build_vectors.py.
//
//   java -cp JARS Oracle.java properties DIRECTORY   character properties, mappings and compositions
//   java -cp JARS Oracle.java words INPUT OUTPUT     the folded words of each text
//
// Binary files are big-endian, as java.io writes them. INPUT: for each text, its number of UTF-16 units (int), then
// the units. OUTPUT: for each text, its number of words (int), then each word in the same form.

import com.ibm.icu.impl.breakiter.BurmeseBreakEngine;
import com.ibm.icu.impl.breakiter.CjkBreakEngine;
import com.ibm.icu.impl.breakiter.DictionaryBreakEngine;
import com.ibm.icu.impl.breakiter.KhmerBreakEngine;
import com.ibm.icu.impl.breakiter.LaoBreakEngine;
import com.ibm.icu.impl.breakiter.ThaiBreakEngine;
import com.ibm.icu.impl.breakiter.UnhandledBreakEngine;
import com.ibm.icu.lang.UCharacter;
import com.ibm.icu.lang.UScript;
import com.ibm.icu.text.Normalizer2;
import com.ibm.icu.text.RuleBasedBreakIterator;
import com.ibm.icu.text.UnicodeSet;
import com.ibm.icu.util.VersionInfo;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.icu.ICUNormalizer2Filter;
import org.apache.lucene.analysis.icu.segmentation.DefaultICUTokenizerConfig;
import org.apache.lucene.analysis.icu.segmentation.ICUTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

public class Oracle {
  static final int CODE_POINTS = 0x110000;
  static final String SEGMENTATION = "org.apache.lucene.analysis.icu.segmentation.";
  static final Normalizer2 NFKC_CF =
      Normalizer2.getInstance(null, "nfkc_cf", Normalizer2.Mode.COMPOSE);
  static final Normalizer2 NFC = Normalizer2.getNFCInstance();

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "properties" -> properties(Path.of(arguments[1]));
      case "words" -> words(Path.of(arguments[1]), Path.of(arguments[2]));
      default -> throw new IllegalArgumentException("properties or words, got " + arguments[0]);
    }
  }

  static void properties(Path directory) throws Exception {
    scripts(directory);
    emoji(directory);
    engines(directory);
    normalization(directory);
    Files.writeString(
        directory.resolve("versions.txt"),
        VersionInfo.ICU_VERSION + "\n" + UCharacter.getUnicodeVersion() + "\n");
  }

  /**
   * Lucene's ScriptIterator asked about every character: its script as the tokenizer sees it
   * (script.bin), and which scripts it continues although its own is another (joins.txt: the code
   * point, then script codes, or * for all).
   */
  static void scripts(Path directory) throws Exception {
    Class<?> type = Class.forName(SEGMENTATION + "ScriptIterator");
    Constructor<?> constructor = type.getDeclaredConstructor(boolean.class);
    constructor.setAccessible(true);
    Object iterator = constructor.newInstance(true);
    Method setText = open(type, "setText", char[].class, int.class, int.class);
    Method next = open(type, "next");
    Method limit = open(type, "getScriptLimit");
    Method code = open(type, "getScriptCode");

    byte[] script = new byte[CODE_POINTS];
    int[] example = new int[256];
    for (int c = 0; c < CODE_POINTS; c++) {
      char[] text = Character.toChars(c);
      setText.invoke(iterator, text, 0, text.length);
      next.invoke(iterator);
      int s = (int) code.invoke(iterator);
      script[c] = (byte) s;
      if (example[s] == 0 && s > UScript.INHERITED) example[s] = c;
    }
    Files.write(directory.resolve("script.bin"), script);

    try (PrintWriter out = writer(directory, "joins.txt")) {
      for (int c = 0; c < CODE_POINTS; c++) {
        int own = script[c] & 0xFF;
        if (own <= UScript.INHERITED) continue;
        StringBuilder joined = new StringBuilder();
        boolean all = true;
        for (int s = 2; s < example.length; s++) {
          if (s == own || example[s] == 0) continue;
          char[] text = (Character.toString(example[s]) + Character.toString(c)).toCharArray();
          setText.invoke(iterator, text, 0, text.length);
          next.invoke(iterator);
          if ((int) limit.invoke(iterator) == text.length) joined.append(' ').append(s);
          else all = false;
        }
        if (all) out.println(hex(c) + " *");
        else if (joined.length() > 0) out.println(hex(c) + joined);
      }
    }
  }

  /** BreakIteratorWrapper's two sets (emoji.bin: 1 emoji, 2 emoji only before U+FE0F or U+20E3). */
  static void emoji(Path directory) throws Exception {
    Class<?> type = Class.forName(SEGMENTATION + "BreakIteratorWrapper");
    UnicodeSet emoji = set(type, "EMOJI", null);
    UnicodeSet ambiguous = set(type, "EMOJI_RK", null);
    byte[] flags = new byte[CODE_POINTS];
    for (int c = 0; c < CODE_POINTS; c++) {
      if (emoji.contains(c)) flags[c] = (byte) (ambiguous.contains(c) ? 2 : 1);
    }
    Files.write(directory.resolve("emoji.bin"), flags);
  }

  /**
   * The dictionary engine of each character (engine.bin: 1 for the first below, and so on), and the
   * parts it may play there (role.bin: 1 begins a word, 2 ends one, 4 combining mark, 8 suffix).
   */
  static void engines(Path directory) throws Exception {
    Object[] engines = {
      new ThaiBreakEngine(), new LaoBreakEngine(), new KhmerBreakEngine(), new BurmeseBreakEngine(),
      new CjkBreakEngine(false), new CjkBreakEngine(true),
    };
    String[] roles = {"fBeginWordSet", "fEndWordSet", "fMarkSet", "fSuffixSet"};
    byte[] engine = new byte[CODE_POINTS];
    byte[] role = new byte[CODE_POINTS];
    for (int number = 0; number < engines.length; number++) {
      for (int c : codePoints(set(DictionaryBreakEngine.class, "fSet", engines[number]))) {
        engine[c] = (byte) (number + 1);
      }
      for (int bit = 0; bit < roles.length; bit++) {
        UnicodeSet members;
        try {
          members = set(engines[number].getClass(), roles[bit], engines[number]);
        } catch (NoSuchFieldException none) {
          continue;
        }
        for (int c : codePoints(members)) role[c] |= (byte) (1 << bit);
      }
    }
    Files.write(directory.resolve("engine.bin"), engine);
    Files.write(directory.resolve("role.bin"), role);
  }

  static UnicodeSet set(Class<?> type, String name, Object owner) throws Exception {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return (UnicodeSet) field.get(owner);
  }

  static int[] codePoints(UnicodeSet set) {
    int[] members = new int[set.size()];
    for (int i = 0; i < members.length; i++) members[i] = set.charAt(i);
    return members;
  }

  /**
   * fold.txt: a character and its nfkc_cf form. decompose.txt: a character and its canonical
   * decomposition. compose.txt: two characters and what they compose to. class.bin: canonical
   * combining classes. joint.bin: 1 where NFC may join a character to what stands before it, 2
   * where NFKC may. nfkc.txt: a character and its NFKC form.
   */
  static void normalization(Path directory) throws Exception {
    Normalizer2 nfkc = Normalizer2.getNFKCInstance();
    byte[] combiningClass = new byte[CODE_POINTS];
    byte[] joint = new byte[CODE_POINTS];
    try (PrintWriter fold = writer(directory, "fold.txt");
        PrintWriter compatible = writer(directory, "nfkc.txt");
        PrintWriter decompose = writer(directory, "decompose.txt");
        PrintWriter compose = writer(directory, "compose.txt")) {
      for (int c = 0; c < CODE_POINTS; c++) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        String text = Character.toString(c);
        String folded = NFKC_CF.normalize(text);
        if (!folded.equals(text)) fold.println(hex(c) + hexes(folded));
        String plain = nfkc.normalize(text);
        if (!plain.equals(text)) compatible.println(hex(c) + hexes(plain));
        combiningClass[c] = (byte) NFC.getCombiningClass(c);
        joint[c] = (byte) ((NFC.hasBoundaryBefore(c) ? 0 : 1) | (nfkc.hasBoundaryBefore(c) ? 0 : 2));
        boolean hangul = c >= 0xAC00 && c <= 0xD7A3;
        String parts = NFC.getDecomposition(c);
        if (parts == null || hangul) continue;
        decompose.println(hex(c) + hexes(parts));
        int[] pair = NFC.getRawDecomposition(c).codePoints().toArray();
        if (pair.length == 2 && NFC.composePair(pair[0], pair[1]) == c) {
          compose.println(hex(pair[0]) + " " + hex(pair[1]) + " " + hex(c));
        }
      }
    }
    Files.write(directory.resolve("class.bin"), combiningClass);
    Files.write(directory.resolve("joint.bin"), joint);
  }

  /** The analysis chain of Solr's ICUTokenizerFactory and ICUNormalizer2FilterFactory defaults. */
  static void words(Path input, Path output) throws Exception {
    Tokenizer tokenizer = new ICUTokenizer(new DefaultICUTokenizerConfig(true, true));
    TokenStream stream = new ICUNormalizer2Filter(tokenizer, NFKC_CF);
    CharTermAttribute term = stream.getAttribute(CharTermAttribute.class);
    // ICU4J makes a dictionary engine when a character first asks for it, and a Common character
    // that asks before any ideograph did is left to no engine for good. So wake all engines first.
    for (String text : new String[] {"漢字", "한국", "ไทย", "ລາວ", "ខ្មែរ", "မြန်မာ"}) {
      tokenizer.setReader(new StringReader(text));
      stream.reset();
      while (stream.incrementToken()) {}
      stream.end();
      stream.close();
    }
    try (DataInputStream in =
            new DataInputStream(new BufferedInputStream(Files.newInputStream(input), 1 << 20));
        DataOutputStream out =
            new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(output), 1 << 20))) {
      while (true) {
        int units;
        try {
          units = in.readInt();
        } catch (EOFException end) {
          return;
        }
        String text = new String(chars(in.readNBytes(2 * units)));
        forget();
        tokenizer.setReader(new StringReader(text));
        stream.reset();
        int count = 0;
        java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
        DataOutputStream words = new DataOutputStream(bytes);
        while (stream.incrementToken()) {
          count++;
          words.writeInt(term.length());
          for (int i = 0; i < term.length(); i++) words.writeChar(term.buffer()[i]);
        }
        stream.end();
        stream.close();
        out.writeInt(count);
        bytes.writeTo(out);
      }
    }
  }

  /**
   * Where no dictionary engine knows a character, ICU4J leaves all characters of its script to none
   * from then on, whatever text they stand in. Forget them, so that a text's words are its own.
   */
  static void forget() throws Exception {
    Field unhandled = RuleBasedBreakIterator.class.getDeclaredField("gUnhandledBreakEngine");
    unhandled.setAccessible(true);
    Field handled = UnhandledBreakEngine.class.getDeclaredField("fHandled");
    handled.setAccessible(true);
    handled.set(unhandled.get(null), new UnicodeSet());
  }

  // Not a decoder: a Java string may hold half a surrogate pair, and a decoder would replace it.
  static char[] chars(byte[] bytes) {
    char[] text = new char[bytes.length / 2];
    for (int i = 0; i < text.length; i++) {
      text[i] = (char) ((bytes[2 * i] & 0xFF) << 8 | bytes[2 * i + 1] & 0xFF);
    }
    return text;
  }

  static Method open(Class<?> type, String name, Class<?>... parameters) throws Exception {
    Method method = type.getDeclaredMethod(name, parameters);
    method.setAccessible(true);
    return method;
  }

  static PrintWriter writer(Path directory, String name) throws IOException {
    return new PrintWriter(Files.newBufferedWriter(directory.resolve(name), StandardCharsets.UTF_8));
  }

  static String hex(int codePoint) {
    return Integer.toHexString(codePoint);
  }

  static String hexes(String text) {
    return text.codePoints().mapToObj(c -> " " + hex(c)).collect(Collectors.joining());
  }
}
