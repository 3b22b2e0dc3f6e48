// SPDX-License-Identifier: GPL-2.0
// Java's own HTTP server, with a pool of threads; the paths ask for different work.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public class Server {
	static String work(String path) {
		switch (path) {
		case "/sum":
			return String.valueOf(IntStream.range(0, 20000).asLongStream().map(i -> i * i).sum());
		case "/sort":
			return IntStream.range(0, 2000).map(i -> i * 7919 % 1000).sorted()
				.mapToObj(String::valueOf).collect(Collectors.joining(" "));
		default:
			return "a small page";
		}
	}

	public static void main(String[] arguments) throws Exception {
		HttpServer server = HttpServer.create(
			new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);

		server.createContext("/", exchange -> {
			byte[] body = work(exchange.getRequestURI().getPath()).getBytes();

			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
	}
}
