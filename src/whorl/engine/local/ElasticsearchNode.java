import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.lucene.util.Version;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginBundle;
import org.elasticsearch.plugins.PluginsLoader;
import org.elasticsearch.rest.RestChannel;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** One Elasticsearch node without an installation; it stops when standard input ends. */
public final class ElasticsearchNode {
    /** Arguments: the home folder, which contains modules/transport-netty4, then settings, each as key=value. */
    public static void main(String[] arguments) throws Exception {
        LogConfigurator.configureESLogging();
        Path home = Path.of(arguments[0]);
        Settings.Builder settings = Settings.builder().put("path.home", home.toString());
        for (String setting : List.of(arguments).subList(1, arguments.length)) {
            int separator = setting.indexOf('=');
            settings.put(setting.substring(0, separator), setting.substring(separator + 1));
        }
        Environment environment = new Environment(settings.build(), home.resolve("config"));
        PluginsLoader plugins = PluginsLoader.createPluginsLoader(modules(home.resolve("modules")), Set.of(), Map.of(), false);
        try (Node node = new Node(environment, plugins)) {
            node.injector().getInstance(RestController.class).registerHandler(new Root());
            node.start();
            HttpServerTransport http = node.injector().getInstance(HttpServerTransport.class);
            System.out.println("whorl: ready at http://" + http.boundAddress().publishAddress());
            while (System.in.read() >= 0) {
            }
        }
        System.exit(0);
    }

    /** Elasticsearch 9 has added a parameter to the method. */
    @SuppressWarnings("unchecked")
    private static Set<PluginBundle> modules(Path folder) throws ReflectiveOperationException {
        for (Method method : PluginsLoader.class.getMethods()) {
            if (method.getName().equals("loadModulesBundles")) {
                Object[] values = method.getParameterCount() == 1 ? new Object[] {folder} : new Object[] {folder, false};
                return (Set<PluginBundle>) method.invoke(null, values);
            }
        }
        throw new NoSuchMethodException("PluginsLoader.loadModulesBundles");
    }

    /** Responds to GET /, like the module rest-root, which Maven repositories lack. */
    private static final class Root implements RestHandler {
        @Override
        public List<Route> routes() {
            return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
        }

        @Override
        public void handleRequest(RestRequest request, RestChannel channel, NodeClient client) throws IOException {
            XContentBuilder answer = channel.newBuilder().startObject();
            answer.field("name", client.settings().get("node.name")).field("cluster_name", client.settings().get("cluster.name"));
            answer.startObject("version").field("number", Build.current().qualifiedVersion());
            answer.field("lucene_version", Version.LATEST.toString()).endObject();
            channel.sendResponse(new RestResponse(RestStatus.OK, answer.field("tagline", "You Know, for Search").endObject()));
        }
    }
}
