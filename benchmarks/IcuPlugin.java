import java.util.Map;

import com.ibm.icu.text.Normalizer2;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.icu.ICUNormalizer2Filter;
import org.apache.lucene.analysis.icu.segmentation.DefaultICUTokenizerConfig;
import org.apache.lucene.analysis.icu.segmentation.ICUTokenizer;
import org.opensearch.index.analysis.AbstractTokenFilterFactory;
import org.opensearch.index.analysis.AbstractTokenizerFactory;
import org.opensearch.index.analysis.TokenFilterFactory;
import org.opensearch.index.analysis.TokenizerFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.opensearch.plugins.AnalysisPlugin;
import org.opensearch.plugins.Plugin;

/** Gives OpenSearch Lucene's ICU analysis under the names of its own plug-in analysis-icu, which no repository has. */
public class IcuPlugin extends Plugin implements AnalysisPlugin {
    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of("icu_tokenizer", (index, environment, name, settings) ->
            new AbstractTokenizerFactory(index, settings, name) {
                @Override
                public Tokenizer create() {
                    return new ICUTokenizer(new DefaultICUTokenizerConfig(true, true));
                }
            });
    }

    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of("icu_normalizer", (index, environment, name, settings) ->
            new AbstractTokenFilterFactory(index, name, settings) {
                @Override
                public TokenStream create(TokenStream words) {
                    Normalizer2 form = Normalizer2.getInstance(null, "nfkc_cf", Normalizer2.Mode.COMPOSE);
                    return new ICUNormalizer2Filter(words, form);
                }
            });
    }
}
