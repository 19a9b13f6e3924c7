"""Crawls one host with Scrapy without delays, and prints the number of fetched pages.

    scrapy_run.py URL WORKERS PAGES as-it-comes|bare

`as-it-comes` has the default settings: redirects, retries, compression, cookies, depths. `bare` switches all of these off.
"""

import json
import sys

import scrapy
from scrapy.crawler import CrawlerProcess

PARTS = [
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware",
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware",
    "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware",
    "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware",
    "scrapy.downloadermiddlewares.retry.RetryMiddleware",
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware",
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware",
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware",
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",
    "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware",
    "scrapy.downloadermiddlewares.stats.DownloaderStats",
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",
]
SPIDER_PARTS = [
    "scrapy.spidermiddlewares.referer.RefererMiddleware",
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware",
    "scrapy.spidermiddlewares.depth.DepthMiddleware",
]


class Links(scrapy.Spider):
    """Follows every link of every page; the duplicate filter makes sure that each page is visited once."""

    name = "links"
    pages = 0
    size = 0

    def parse(self, response):
        Links.pages += 1
        Links.size += len(response.body)
        for href in response.xpath("//a/@href").getall():
            url = response.urljoin(href)
            if url.startswith(self.home):
                yield scrapy.Request(url)


def main():
    url, workers, pages, manner = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    Links.start_urls = [url]
    Links.home = url[: url.index("/", len("http://")) + 1]
    bare = {
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "DOWNLOADER_MIDDLEWARES": dict.fromkeys(PARTS),
        "SPIDER_MIDDLEWARES": dict.fromkeys(SPIDER_PARTS),
    }
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": False,
            "CONCURRENT_REQUESTS": workers,
            "CONCURRENT_REQUESTS_PER_DOMAIN": workers,
            "DOWNLOAD_DELAY": 0,
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "AUTOTHROTTLE_ENABLED": False,
            "CLOSESPIDER_PAGECOUNT": pages,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            **(bare if manner == "bare" else {}),
        }
    )
    process.crawl(Links)
    process.start()
    print(json.dumps({"pages": Links.pages, "bytes": Links.size}))


if __name__ == "__main__":
    main()
