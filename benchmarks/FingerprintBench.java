// Lucene's own fingerprint, timed. Reads a file of texts (big-endian length in bytes, then UTF-8), then runs one round
// for every line on standard input and answers with the nanoseconds of this thread and a checksum of all tokens.
// Run by benchmarks/fingerprint.py: java -cp JARS FingerprintBench.java TEXTS

import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.icu.ICUNormalizer2Filter;
import org.apache.lucene.analysis.icu.segmentation.ICUTokenizer;
import org.apache.lucene.analysis.minhash.MinHashFilter;
import org.apache.lucene.analysis.shingle.ShingleFilter;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

public class FingerprintBench {
    static final Analyzer ANALYZER = new Analyzer() {
        @Override
        protected TokenStreamComponents createComponents(String field) {
            Tokenizer words = new ICUTokenizer();
            ShingleFilter shingles = new ShingleFilter(new ICUNormalizer2Filter(words), 5, 5);
            shingles.setOutputUnigrams(false);
            return new TokenStreamComponents(words, new MinHashFilter(shingles, 1, 512, 1, true));
        }
    };

    static long run(List<String> texts) throws Exception {
        long together = 0;
        for (String text : texts) {
            try (TokenStream tokens = ANALYZER.tokenStream("f", text)) {
                CharTermAttribute term = tokens.addAttribute(CharTermAttribute.class);
                tokens.reset();
                while (tokens.incrementToken()) {
                    long high = 0;
                    for (int unit = 0; unit < 4; unit++) {
                        high = high << 16 | term.charAt(unit);
                    }
                    together = together * 31 + high;
                }
                tokens.end();
            }
        }
        return together;
    }

    public static void main(String[] arguments) throws Exception {
        List<String> texts = new ArrayList<>();
        try (DataInputStream file = new DataInputStream(new FileInputStream(arguments[0]))) {
            for (int count = file.readInt(); count > 0; count--) {
                texts.add(new String(file.readNBytes(file.readInt()), StandardCharsets.UTF_8));
            }
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        while (asked.readLine() != null) {
            long start = threads.getCurrentThreadCpuTime();
            long together = run(texts);
            System.out.println((threads.getCurrentThreadCpuTime() - start) + " " + Long.toUnsignedString(together));
            System.out.flush();
        }
    }
}
